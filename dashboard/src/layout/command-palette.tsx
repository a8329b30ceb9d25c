import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { adminPlaces } from './navigation.ts'

const places = adminPlaces.flatMap((group) => group.places)

/** ⌘K: goes to any page. */
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const navigate = useNavigate()
  const found = places.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()))
  const go = (to: string): void => {
    onClose()
    void navigate({ to })
  }
  return (
    <Dialog open onClose={onClose} title="Search">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (found[0]) go(found[0].to)
        }}
      >
        <TextField label="Page" value={text} onChange={({ target }) => setText(target.value)} autoFocus />
      </form>
      <ul className="mt-3">
        {found.map(({ to, label }) => (
          <li key={to}>
            <button
              type="button"
              onClick={() => go(to)}
              className="min-h-8 w-full rounded-md px-2 text-left hover:bg-sunken"
            >
              {label}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
