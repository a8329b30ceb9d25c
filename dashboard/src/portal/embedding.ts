import { embedded } from './client.ts'

/** The origin of the page around this one, as the link names it. The browser delivers messages to no other. */
const embedder = new URLSearchParams(location.search).get('embedder') ?? undefined

function tell(message: object): void {
  if (!embedded || embedder === undefined) return
  try {
    window.parent.postMessage(message, embedder)
  } catch {
    // The parameter is no origin: nobody gets the message.
  }
}

/** Whether the page around this one can be asked for another link. */
export const canAskForLink = embedded && embedder !== undefined

export const askForLink = (): void => tell({ type: 'postern-portal-link-wanted' })

/** Tells the page around this one how high the content is, now and whenever that changes. */
export function tellHeight(): void {
  if (!embedded) return
  const root = document.getElementById('root')!
  const send = (): void => tell({ type: 'postern-portal-height', height: Math.ceil(root.scrollHeight) })
  new ResizeObserver(send).observe(root)
  send()
}
