import { X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { Button, IconButton } from './button.tsx'

interface Toast {
  id: number
  title: string
  description?: string
  action?: { label: string; run: () => void }
}

const shownAtOnce = 3
let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next.slice(-shownAtOnce)
  for (const listener of listeners) listener()
}

const remove = (id: number): void => change(toasts.filter((toast) => toast.id !== id))

/** Says shortly that something was done; with an action such as "Undo" it stays longer. Errors belong into a ProblemNotice. */
export function toast(title: string, options: Omit<Toast, 'id' | 'title'> = {}): void {
  const id = ++last
  change([...toasts, { id, title, ...options }])
  setTimeout(() => remove(id), options.action ? 12_000 : 5_000)
}

/** Where toasts appear; screen readers read them when they do. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div
      role="status"
      aria-live="polite"
      className="fixed right-4 bottom-18 z-40 flex w-[min(92vw,24rem)] flex-col gap-2 md:bottom-4"
    >
      {shown.map(({ id, title, description, action }) => (
        <div
          key={id}
          className="flex items-center gap-3 rounded-md border border-line bg-raised px-3 py-2 shadow-lg"
        >
          <div className="min-w-0 flex-1 break-words">
            <p className="font-medium">{title}</p>
            {description !== undefined && <p className="text-sm text-soft">{description}</p>}
          </div>
          {action && (
            <Button
              small
              onClick={() => {
                remove(id)
                action.run()
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton label="Close" onClick={() => remove(id)}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
    </div>
  )
}
