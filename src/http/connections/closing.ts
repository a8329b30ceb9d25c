import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    closing: Closing
  }
}

/** Milliseconds between two checks for idle connections after the server has stopped accepting. */
const lookEvery = 100

/** With Node's answer in progress on the connection. */
export type ServerSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * Ends the server's connections. Closing a connection without notice may lose a request that is on its way (RFC 9112, section 9.6).
 * From `begin` on, every answer has `Connection: close`: the client sends nothing more on the connection, and opens its next one
 * elsewhere. Idle connections are closed when the server closes.
 */
export class Closing {
  readonly #open = new Set<ServerSocket>()
  readonly #listeners: (() => void)[] = []
  #begun = false

  constructor(app: FastifyInstance) {
    const { server } = app
    server.on('connection', (socket: ServerSocket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    })
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.#begun) this.announce(response)
    })
    this.#finishAnswers(server)
    app.addHook('preClose', async () => {
      this.start()
      const looks = setInterval(() => server.closeIdleConnections(), lookEvery)
      server.once('close', () => clearInterval(looks))
      // A server that never listened does not emit `close`.
      looks.unref()
    })
  }

  /** Whether the process is stopping. */
  get begun(): boolean {
    return this.#begun
  }

  /** From now on answers have `Connection: close`, also those to requests in progress. */
  start(): void {
    if (this.#begun) return
    this.#begun = true
    for (const { _httpMessage: response } of this.#open) if (response) this.announce(response)
    for (const listener of this.#listeners) listener()
  }

  /** Calls `listener` at the start, for answers that would not end by themselves. */
  onStart(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Makes an answer the last one on its connection, unless its head is already sent. */
  announce(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader('connection', 'close')
  }

  /**
   * Node regards a connection as idle once its answer is written, and closes it although the client has not read all of it
   * (`closeIdleConnections`, which `close` calls). That would truncate a long answer, so such a connection waits for a later
   * check.
   */
  #finishAnswers(server: FastifyInstance['server']): void {
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {
      const sending = [...this.#open].filter((socket) => socket.writableLength > 0)
      for (const socket of sending) socket.destroy = () => socket
      closeIdle()
      for (const socket of sending) Reflect.deleteProperty(socket, 'destroy')
    }
  }
}

/** Aborted when the connection of an answer closes, or at once if it has closed already, because no event follows then. */
export function closedSignal({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const closed = new AbortController()
  if (raw.closed) closed.abort()
  else raw.once('close', () => closed.abort())
  return closed.signal
}
