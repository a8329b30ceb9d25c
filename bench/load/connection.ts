import { connect, type Socket } from 'node:net'

/** A keep-alive connection on which one request at a time is under way; requests are bytes. */
export class Connection {
  readonly #socket: Socket
  readonly #reader = new ResponseReader()
  #resolve: ((status: string) => void) | undefined
  #reject: ((error: Error) => void) | undefined

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(port, () => resolve(connection), reject)
    })
  }

  private constructor(port: number, onOpen: () => void, onError: (error: Error) => void) {
    const buffer = Buffer.allocUnsafe(64 * 1024)
    // onread: one buffer for all that comes on the connection, and no stream around it.
    const onread = { buffer, callback: (size: number) => this.#take(buffer.subarray(0, size)) }
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread }, onOpen)
    this.#socket.on('error', (error) => {
      onError(error)
      this.#reject?.(error)
    })
    this.#socket.on('close', () => this.#reject?.(new Error('the server closed a connection')))
  }

  /** Resolves with the status. @throws Error when the connection has ended or ends before the answer. */
  call(request: Buffer): Promise<string> {
    if (this.#socket.destroyed) return Promise.reject(new Error('the server closed a connection'))
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): boolean {
    try {
      const status = this.#reader.read(chunk)
      if (status !== undefined) this.#resolve?.(status)
    } catch (error) {
      this.#reject?.(error as Error)
    }
    return true
  }
}

const headEnd = '\r\n\r\n'
const contentLength = /\r\ncontent-length: *(\d+)/i

/** Reads the responses of one keep-alive connection on which one request at a time is under way. */
class ResponseReader {
  #head: Buffer | undefined
  #missing = 0
  #status = ''

  /** Returns the status once the response is complete. Throws when it does not tell its length. */
  read(chunk: Buffer): string | undefined {
    if (this.#missing > 0) return this.#body(chunk.length)
    const data = this.#head ? Buffer.concat([this.#head, chunk]) : chunk
    const end = data.indexOf(headEnd)
    if (end < 0) {
      // The chunk's memory is used again for the next one.
      this.#head = Buffer.from(data)
      return undefined
    }
    this.#head = undefined
    const head = data.toString('latin1', 0, end)
    // 204 has no content and no length (RFC 9110, section 8.6).
    const length = head.startsWith('204', 9) ? '0' : contentLength.exec(head)?.[1]
    if (length === undefined) throw new Error(`a response without content-length: ${head}`)
    this.#status = head.slice(9, 12)
    this.#missing = Number(length)
    return this.#body(data.length - end - headEnd.length)
  }

  #body(bytes: number): string | undefined {
    this.#missing -= bytes
    if (this.#missing < 0) throw new Error('more came than the response announced')
    return this.#missing === 0 ? this.#status : undefined
  }
}
