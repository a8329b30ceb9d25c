import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Closing } from '../http/connections/closing.ts'

/** The answers that a server has begun and not written yet, whichever server its requests came from. */
export class InProgress {
  readonly #answers = new Set<ServerResponse>()
  #onNone: (() => void) | undefined

  /** @param closing whose start makes them the last ones on their connections, which the other server keeps open otherwise */
  constructor(server: Server, closing: Closing) {
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      this.#answers.add(response)
      const end = (): void => {
        this.#answers.delete(response)
        if (this.#answers.size === 0) this.#onNone?.()
      }
      // A client that leaves before the end causes only the second one.
      response.once('finish', end).once('close', end)
    })
    closing.onStart(() => {
      for (const response of this.#answers) closing.announce(response)
    })
  }

  /** Resolves when no answer is in progress, or after `limit` milliseconds. */
  async none(limit: number): Promise<void> {
    if (this.#answers.size === 0) return
    const over = new AbortController()
    this.#onNone = () => over.abort()
    await sleep(limit, undefined, { signal: over.signal }).catch(() => undefined)
  }
}
