// Types of the DOM as far as they are needed: the package also compiles without them.
interface Frame {
  src: string
  title: string
  allow: string
  style: Record<string, string>
  contentWindow: unknown
  addEventListener(type: 'load', listener: () => void): void
  remove(): void
}
interface Message {
  source: unknown
  origin: string
  data: unknown
}
interface Window {
  location: { origin: string }
  document: { createElement(name: 'iframe'): Frame }
  addEventListener(type: 'message', listener: (event: Message) => void): void
  removeEventListener(type: 'message', listener: (event: Message) => void): void
}

export interface EmbedOptions {
  /** Asks your own server for a link, which it makes by POST /portal-links for the tenant of the signed-in user. */
  createLink: () => Promise<string>
  /** The name of the frame for screen readers. Default `Webhooks`. */
  title?: string | undefined
  /** Pixels that the frame has at least. Default 480. */
  minHeight?: number | undefined
  /**
   * Called when there is no link, or when the service does not allow this page to show the portal. The frame is gone then, and the
   * console says what to do.
   */
  onFailed?: ((reason: 'no-link' | 'refused') => void) | undefined
}

/** Pixels. A page cannot make itself so high that the rest of this page is out of reach. */
const greatestHeight = 20_000
/** Milliseconds from the end of loading until the portal must have said that it is there. */
const answersWithin = 4_000

/**
 * Shows the portal in a frame within `container`. The service must name the origin of this page in `PORTAL_FRAME_ORIGINS`. The frame
 * grows with its content. When its session ends, the person can press a button in it, which asks for another link.
 * @returns a function that removes the frame
 */
export function embedPortal(
  // The types of browsers ask for more of a child than this module knows of its frame.
  container: { appendChild(child: never): unknown },
  { createLink, title = 'Webhooks', minHeight = 480, onFailed }: EmbedOptions,
): () => void {
  const window = globalThis as unknown as Window
  const frame = window.document.createElement('iframe')
  Object.assign(frame.style, { width: '100%', border: '0', display: 'block', height: `${minHeight}px` })
  frame.title = title
  // Otherwise the buttons that copy do nothing in Chromium.
  frame.allow = 'clipboard-write'
  let origin: string | undefined
  let answered = false
  let waiting: ReturnType<typeof setTimeout> | undefined

  let removed = false
  const remove = (): void => {
    removed = true
    clearTimeout(waiting)
    window.removeEventListener('message', onMessage)
    frame.remove()
  }
  const fail = (reason: 'no-link' | 'refused', report: (reason: string) => void): void => {
    if (removed) return
    remove()
    report(reason)
    onFailed?.(reason)
  }
  const reportRefusal = (reason: string): void =>
    console.error(
      `postern-client: the portal did not answer from its frame (${reason}). Add ${window.location.origin} to PORTAL_FRAME_ORIGINS, and check that the page of ${origin} loads in a tab.`,
    )
  const open = (): void => {
    createLink()
      .then((link) => {
        // An address, and not the page of a sign-in that a server answered instead.
        const url = new URL(link)
        ;({ origin } = url)
        // Tells the portal whom its messages are for; the browser delivers them to no other origin.
        url.searchParams.set('embedder', window.location.origin)
        frame.src = url.href
      })
      .catch((cause: unknown) => fail('no-link', () => reportNoLink(cause)))
  }
  const onMessage = (event: Message): void => {
    // Other frames, and other pages in this frame, may send messages too.
    if (event.source !== frame.contentWindow || event.origin !== origin) return
    const said = readMessage(event.data)
    if (said === undefined) return
    answered = true
    if ('height' in said) frame.style['height'] = `${Math.max(minHeight, said.height)}px`
    else open()
  }
  frame.addEventListener('load', () => {
    // A refused frame loads a page of the browser, and only the missing message shows it.
    if (origin !== undefined && !answered)
      waiting = setTimeout(() => answered || fail('refused', reportRefusal), answersWithin)
  })
  window.addEventListener('message', onMessage)
  container.appendChild(frame as never)
  open()
  return remove
}

/** Says to the developer why `createLink` gave no link: the person at the page cannot mend it. */
export function reportNoLink(cause: unknown): void {
  console.error(
    'postern-client: the portal was not opened (no-link). createLink must resolve to the url that POST /portal-links returned to your server:',
    cause,
  )
}

/** What the portal says: its height, or that the person asks for another link. `undefined` for anything else. */
function readMessage(data: unknown): { height: number } | { linkWanted: true } | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { type, height } = data as { type?: unknown; height?: unknown }
  if (type === 'postern-portal-link-wanted') return { linkWanted: true }
  if (type !== 'postern-portal-height' || typeof height !== 'number' || !(height >= 0)) return undefined
  return { height: Math.min(height, greatestHeight) }
}
