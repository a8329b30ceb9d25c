import { Suspense, useEffect, useState } from 'react'
import { lazyPart } from './lazy-part.ts'

const Toaster = lazyPart(() => import('./toaster.tsx'))

export interface ToastParts {
  title: string
  description?: string
  /** A button that undoes what was done, or goes on from it. */
  action?: { label: string; onClick: () => void }
}

const waiting: ToastParts[] = []
let wake = (): void => {}

/** Says shortly that something was done. Errors belong in a ProblemNotice. */
export function toast(title: string, options: Omit<ToastParts, 'title'> = {}): void {
  waiting.push({ title, ...options })
  wake()
}

/** Where toasts appear; screen readers read them when they do. */
export function Toasts() {
  const [calls, setCalls] = useState(0)
  useEffect(() => {
    wake = () => setCalls((before) => before + 1)
  }, [])
  return (
    calls > 0 && (
      <Suspense>
        <Toaster calls={calls} take={() => waiting.splice(0)} />
      </Suspense>
    )
  )
}
