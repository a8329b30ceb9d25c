import { createContext, use, useCallback, useEffect, useId, useRef, useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { keepFocusWithin } from './focus.ts'

export interface Question {
  /** A question: "Delete this subscriber?" */
  title: string
  /** What it will do. */
  consequence: ReactNode
  /** The button that does it, with a verb. */
  action: string
  /** The button that leaves everything as it is. Default "Cancel". */
  keep?: string
  /** `primary` for what destroys nothing. Default `danger`. */
  kind?: 'danger' | 'primary'
}

type Ask = (question: Question) => Promise<boolean>

const Context = createContext<Ask>(() => Promise.resolve(false))

/**
 * Asks before something that is hard to undo or reaches far.
 * Resolves to true when the person presses `action`, to false for the other button and for Escape.
 */
export const useConfirm = (): Ask => use(Context)

interface Asked {
  question: Question
  answer: (yes: boolean) => void
}

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<Asked>()
  const ask = useCallback<Ask>(
    (question) =>
      new Promise((resolve) => {
        const answer = (yes: boolean): void => {
          setAsked(undefined)
          resolve(yes)
        }
        setAsked((before) => {
          before?.answer(false)
          return { question, answer }
        })
      }),
    [],
  )
  return (
    <Context value={ask}>
      {children}
      {asked && <Confirmation {...asked} />}
    </Context>
  )
}

function Confirmation({
  question: { title, consequence, action, keep = 'Cancel', kind = 'danger' },
  answer,
}: Asked) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      role="alertdialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-consequence`}
      onCancel={(event) => {
        event.preventDefault()
        answer(false)
      }}
      onKeyDown={keepFocusWithin}
      className="m-auto w-[min(92vw,28rem)] max-w-none rounded-lg border border-line bg-card p-5 text-ink shadow-xl backdrop:bg-black/40"
    >
      <h2 id={`${id}-title`} className="text-lg font-semibold">
        {title}
      </h2>
      <div id={`${id}-consequence`} className="mt-1.5 text-soft">
        {consequence}
      </div>
      <div className="mt-5 flex flex-wrap justify-end gap-2">
        {/* First, and so focused: a hasty Enter changes nothing. */}
        <Button onClick={() => answer(false)}>{keep}</Button>
        <Button kind={kind} onClick={() => answer(true)}>
          {action}
        </Button>
      </div>
    </dialog>
  )
}
