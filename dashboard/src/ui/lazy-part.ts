import { lazy, type ComponentType } from 'react'

/** A part whose script is loaded when it is first shown. If an update has removed that script, the page is loaded again. */
export const lazyPart = <Props>(load: () => Promise<{ default: ComponentType<Props> }>) =>
  lazy(() =>
    load().catch(() => {
      location.reload()
      return new Promise<never>(() => {})
    }),
  )
