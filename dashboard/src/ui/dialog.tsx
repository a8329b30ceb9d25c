import { X } from 'lucide-react'
import { useEffect, useId, useRef, type ReactNode } from 'react'
import { IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { keepFocusWithin } from './focus.ts'

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: string
  description?: ReactNode
  children: ReactNode
  /** `drawer`: at the right edge, to peek at something while the page stays. Default `center`. */
  place?: 'center' | 'drawer'
  /** Wider, for forms with code. */
  wide?: boolean
}

const places = {
  center: 'm-auto max-h-[90dvh] w-[min(92vw,32rem)] rounded-lg',
  drawer: 'my-0 mr-0 ml-auto h-dvh max-h-dvh w-[min(100vw,40rem)]',
} as const

/** A modal dialog: the focus stays within, Escape closes it, and the focus returns to where it was. */
export function Dialog(props: DialogProps) {
  return props.open ? <OpenDialog {...props} /> : null
}

function OpenDialog({ onClose, title, description, children, place = 'center', wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    // Otherwise the browser focuses the button that closes it.
    dialog.current?.querySelector<HTMLElement>('[data-body] :is(input, select, textarea)')?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={`${id}-title`}
      aria-describedby={description ? `${id}-description` : undefined}
      onCancel={(event) => {
        // Events of a dialog or file input within bubble in React.
        if (event.target !== dialog.current) return
        event.preventDefault()
        onClose()
      }}
      onKeyDown={keepFocusWithin}
      onMouseDown={({ target }) => target === dialog.current && onClose()}
      className={classes(
        'max-w-none overflow-hidden border border-line bg-card text-ink shadow-xl backdrop:bg-black/40',
        places[place],
        wide && place === 'center' && 'w-[min(94vw,52rem)]',
      )}
    >
      <div className="flex h-full max-h-[inherit] flex-col">
        <div className="flex items-start gap-3 border-b border-line px-4 py-3">
          <div className="min-w-0 flex-1">
            <h2 id={`${id}-title`} className="text-lg font-semibold break-words">
              {title}
            </h2>
            {description && (
              <p id={`${id}-description`} className="text-sm text-soft">
                {description}
              </p>
            )}
          </div>
          <IconButton label="Close" onClick={onClose}>
            <X size={18} aria-hidden />
          </IconButton>
        </div>
        <div data-body className="min-h-0 flex-1 overflow-auto p-4">
          {children}
        </div>
      </div>
    </dialog>
  )
}

/** The buttons at the end of a dialog's form. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>
)
