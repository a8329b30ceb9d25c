import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    closing: Closing
  }
}

/** Milliseconds between two looks for connections that have become idle since the server stopped accepting. */
const lookEvery = 100

/** Node's answer in progress on a connection. */
type ServerSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * The end of the server's connections. A connection that is closed without notice may lose the request that is on its way
 * (RFC 9112, section 9.6). So, from `begin` on, every answer carries `Connection: close`: its client sends nothing more on that
 * connection, and opens the next one elsewhere. Connections that stayed idle are closed when the server closes.
 */
export class Closing {
  readonly #open = new Set<ServerSocket>()
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
    this.#keepAnswersWhole(server)
    app.addHook('preClose', async () => {
      this.begin()
      const looks = setInterval(() => server.closeIdleConnections(), lookEvery)
      server.once('close', () => clearInterval(looks))
      // A server that never listened does not tell that it is closed.
      looks.unref()
    })
  }

  /** Whether the process stops: no more requests are wanted. */
  get begun(): boolean {
    return this.#begun
  }

  /** From now on answers carry `Connection: close`, those to requests that are under way included. */
  begin(): void {
    if (this.#begun) return
    this.#begun = true
    for (const { _httpMessage: response } of this.#open) if (response) this.announce(response)
  }

  /** Marks an answer as the last one on its connection, unless its head is sent already. */
  announce(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader('connection', 'close')
  }

  /**
   * Node's server takes a connection for idle as soon as its answer is made, and closes it although the client has not
   * read all of it (`closeIdleConnections`, which `close` calls): a long answer would be cut off. Such a connection is left
   * for a later look.
   */
  #keepAnswersWhole(server: FastifyInstance['server']): void {
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {
      const sending = [...this.#open].filter((socket) => socket.writableLength > 0)
      for (const socket of sending) socket.destroy = () => socket
      closeIdle()
      for (const socket of sending) Reflect.deleteProperty(socket, 'destroy')
    }
  }
}
