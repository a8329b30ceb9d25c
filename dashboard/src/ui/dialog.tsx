import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { useRef, type ReactNode } from 'react'
import { words } from '../language/words.ts'
import { IconButton } from './button.tsx'
import { classes } from './classes.ts'

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: string
  description?: ReactNode
  children: ReactNode
  /** `drawer`: at the right edge, to look at something while the page stays. Default `center`. */
  place?: 'center' | 'drawer'
  /** Wider, for forms with code. */
  wide?: boolean
}

const places = {
  center: 'inset-0 m-auto h-fit max-h-[90dvh] rounded-lg',
  drawer: 'inset-y-0 right-0 w-[min(100vw,40rem)]',
} as const

/** A modal dialog. Its first input has the focus, not the button that closes it. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  place = 'center',
  wide = false,
}: DialogProps) {
  const body = useRef<HTMLDivElement>(null)
  return (
    <Base.Root
      open={open}
      onOpenChange={(_open, details) => (isAboveDialogs(details.event) ? details.cancel() : onClose())}
    >
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
        <Base.Popup
          initialFocus={() => body.current?.querySelector<HTMLElement>('input, select, textarea') ?? true}
          className={classes(
            'fixed z-40 flex flex-col overflow-hidden border border-line bg-card text-ink shadow-xl focus:outline-none',
            places[place],
            place === 'center' && (wide ? 'w-[min(94vw,52rem)]' : 'w-[min(92vw,32rem)]'),
          )}
        >
          <div className="flex items-start gap-3 border-b border-line px-4 py-3">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-lg font-semibold break-words">{title}</Base.Title>
              {description && (
                <Base.Description className="text-sm text-soft">{description}</Base.Description>
              )}
            </div>
            <Base.Close
              render={
                <IconButton label={words.ui.close}>
                  <X size={18} aria-hidden />
                </IconButton>
              }
            />
          </div>
          <div ref={body} className="min-h-0 flex-1 overflow-auto p-4">
            {children}
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

/** A confirmation or a toast lies above the dialog: what happens there does not close the dialog. */
const isAboveDialogs = ({ target }: Event): boolean =>
  document.querySelector('[role=alertdialog]') !== null ||
  (target instanceof Element && target.closest('[data-toasts]') !== null)

/** The buttons at the end of a dialog's form. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>
)
