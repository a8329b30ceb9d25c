import { connect, type Socket } from 'node:net'
import { ResponseReader } from './response-reader.ts'

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
