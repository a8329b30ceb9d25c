import { Dialog } from '../ui/dialog.tsx'
import { adminPlaces } from './navigation.ts'
import { Person } from './person.tsx'
import { Places } from './places.tsx'

/** All pages, on a telephone. */
export default function PagesDrawer({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Pages" place="drawer">
      <Places groups={adminPlaces} onGo={onClose} />
      <Person isAdmin onGo={onClose} />
    </Dialog>
  )
}
