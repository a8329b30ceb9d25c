import { AlertDialog } from '@base-ui/react/alert-dialog'
import { useRef } from 'react'
import { words } from '../language/words.ts'
import { Button } from './button.tsx'
import type { Question } from './confirm.tsx'

export default function Confirmation({
  question: { title, consequence, action, keep = words.ui.cancel, kind = 'danger' },
  answer,
}: {
  question: Question
  answer: (yes: boolean) => void
}) {
  const cancel = useRef<HTMLButtonElement>(null)
  return (
    <AlertDialog.Root open onOpenChange={() => answer(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop forceRender className="fixed inset-0 z-50 bg-[rgb(0_0_0/0.4)]" />
        {/* A hasty Enter changes nothing. */}
        <AlertDialog.Popup
          initialFocus={cancel}
          className="fixed inset-0 z-50 m-auto h-fit w-[min(92vw,28rem)] rounded-lg border border-line bg-card p-5 text-ink shadow-xl"
        >
          <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="mt-1.5 text-soft">
            {consequence}
          </AlertDialog.Description>
          <div className="mt-5 flex flex-wrap justify-end gap-2">
            <AlertDialog.Close ref={cancel} render={<Button>{keep}</Button>} />
            <Button kind={kind} onClick={() => answer(true)}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
