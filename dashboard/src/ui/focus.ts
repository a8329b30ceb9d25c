import type { KeyboardEvent } from 'react'

const focusable =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex="0"]'

/** Tab goes round within an element: a modal dialog alone lets the focus leave the page. */
export function keepFocusWithin(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'Tab') return
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(focusable)].filter((one) =>
    one.checkVisibility(),
  )
  const [first, last] = [all[0], all.at(-1)]
  const from = event.shiftKey ? first : last
  if (document.activeElement !== from && all.includes(document.activeElement as HTMLElement)) return
  event.preventDefault()
  ;(event.shiftKey ? last : first)?.focus()
}
