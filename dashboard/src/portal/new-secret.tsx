import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { ShownOnce } from '../webhooks/shown-once.tsx'
import { portalWords } from './language/load.ts'

/** The keys of a new endpoint. */
export function NewSecret({
  onClose,
  ...keys
}: {
  secret?: string
  publicKey?: string
  onClose: () => void
}) {
  return (
    <Dialog open onClose={onClose} title={portalWords.newSecret}>
      <ShownOnce {...keys} />
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {portalWords.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
