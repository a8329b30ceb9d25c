import { useState, type FormEvent } from 'react'
import { Button } from './button.tsx'
import { TextField } from './fields.tsx'

/** Opens the page of something that is in no list yet. */
export function OpenByName({
  label,
  placeholder,
  onOpen,
}: {
  label: string
  placeholder: string
  onOpen: (name: string) => void
}) {
  const [name, setName] = useState('')
  const open = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '') onOpen(name.trim())
  }
  return (
    <form onSubmit={open} className="flex items-end gap-2">
      <div className="flex-1">
        <TextField
          label={label}
          placeholder={placeholder}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </div>
      <Button type="submit">Open</Button>
    </form>
  )
}
