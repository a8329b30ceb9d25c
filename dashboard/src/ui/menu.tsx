import { Menu as Base } from '@base-ui/react/menu'
import { Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
import { buttonLook, type ButtonKind } from './button.tsx'
import { classes } from './classes.ts'

export interface MenuItem {
  label: string
  run: () => void
  danger?: boolean
  disabled?: boolean
}

/** A button that opens a list of actions. */
export function Menu({
  label,
  items,
  trigger,
  kind,
}: {
  label: string
  items: readonly MenuItem[]
  trigger?: ReactNode
  /** Makes the trigger look like a button. */
  kind?: ButtonKind
}) {
  return (
    <Base.Root>
      <Base.Trigger
        aria-label={label}
        className={
          kind
            ? buttonLook(kind, false)
            : 'inline-flex min-h-8 min-w-8 items-center justify-center gap-1.5 rounded-md px-1.5 text-soft hover:bg-sunken hover:text-ink'
        }
      >
        {trigger ?? <Ellipsis size={18} aria-hidden />}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className="z-50">
          <Base.Popup className="min-w-44 rounded-md border border-line bg-raised p-1 shadow-lg focus:outline-none">
            {items.map(({ label, run, danger = false, disabled = false }) => (
              <Base.Item
                key={label}
                disabled={disabled}
                onClick={run}
                className={classes(
                  'flex min-h-8 cursor-pointer items-center rounded px-2.5 data-[disabled]:opacity-50 data-[highlighted]:bg-sunken',
                  danger && 'text-danger',
                )}
              >
                {label}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
