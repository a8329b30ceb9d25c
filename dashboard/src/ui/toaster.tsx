import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'
import { useEffect } from 'react'
import { words } from '../language/words.ts'
import { Button, IconButton } from './button.tsx'
import type { ToastParts } from './toast.tsx'

interface ToasterProps {
  /** Changes when there are new toasts to take. */
  calls: number
  take: () => ToastParts[]
}

/** Milliseconds in which a person notices the button and reaches it. */
const actionTimeout = 10_000

export default function Toaster(props: ToasterProps) {
  return (
    <Toast.Provider>
      <Toast.Portal>
        <Toast.Viewport
          data-toasts
          className="fixed right-4 bottom-18 z-60 flex w-[min(92vw,24rem)] flex-col gap-2 md:bottom-4"
        >
          <List {...props} />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List({ calls, take }: ToasterProps) {
  const { toasts, add, close } = Toast.useToastManager()
  useEffect(() => {
    for (const { action, ...parts } of take()) {
      const id = add({
        ...parts,
        ...(action && {
          timeout: actionTimeout,
          actionProps: {
            children: action.label,
            onClick: () => {
              close(id)
              action.onClick()
            },
          },
        }),
      })
    }
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [calls])
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      // It takes no focus, so it is no dialog.
      role="group"
      aria-modal={undefined}
      className="rounded-md border border-line bg-raised px-3 py-2 shadow-lg data-[limited]:hidden"
    >
      <Toast.Content className="flex items-center gap-3">
        <div className="min-w-0 flex-1 break-words">
          <Toast.Title render={<p />} className="font-medium" />
          <Toast.Description className="text-sm text-soft" />
        </div>
        <Toast.Action render={<Button small />} />
        <Toast.Close
          aria-hidden={undefined}
          render={
            <IconButton label={words.ui.close}>
              <X size={16} aria-hidden />
            </IconButton>
          }
        />
      </Toast.Content>
    </Toast.Root>
  ))
}
