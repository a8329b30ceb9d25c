import { Readable } from 'node:stream'

/** Bytes that may wait for a viewer that does not read. */
const mostWaiting = 256 * 1024

/** One open connection. Its messages are never buffered without bound: a viewer that does not read them is disconnected. */
export class Viewer {
  readonly stream: Readable
  /** Who it is, for the limit per person. */
  readonly person: string
  /** Whether the credential with which the connection began is still valid. */
  readonly isAllowed: () => Promise<boolean>
  /** Viewers with equal credentials are allowed alike, so that one check serves them. */
  readonly credential: string
  #ended = false

  constructor({ person, credential, isAllowed }: Pick<Viewer, 'person' | 'credential' | 'isAllowed'>) {
    this.person = person
    this.credential = credential
    this.isAllowed = isAllowed
    this.stream = new Readable({ read: () => undefined })
  }

  send(message: Buffer): void {
    const { stream } = this
    if (stream.destroyed || this.#ended) return
    stream.push(message)
    if (stream.readableLength > mostWaiting) stream.destroy()
  }

  /** Ends the answer. The browser connects again after a while. */
  end(): void {
    this.#ended = true
    if (!this.stream.destroyed) this.stream.push(null)
  }
}
