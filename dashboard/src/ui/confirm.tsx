import { createContext, Suspense, use, useCallback, useState, type ReactNode } from 'react'
import { lazyPart } from './lazy-part.ts'

const Confirmation = lazyPart(() => import('./confirmation.tsx'))

export interface Question {
  /** A question: "Delete this endpoint?" */
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
      {asked && (
        <Suspense>
          <Confirmation {...asked} />
        </Suspense>
      )}
    </Context>
  )
}
