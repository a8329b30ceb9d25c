import { IncomingMessage } from 'node:http'

/** Receives the body of a request in pieces. Nothing is called after `end` or `cut`. */
export interface BodySink {
  /** The sink owns the piece. */
  data(piece: Buffer): void
  /** The body is complete. */
  end(): void
  /** The connection ended or failed before the end of the body. */
  cut(): void
}

/** Replaces a sink that has finished: further pieces are ignored. */
const nowhere: BodySink = { data: () => undefined, end: () => undefined, cut: () => undefined }
const streamEnded = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(IncomingMessage.prototype),
  'readableEnded',
)!

/**
 * A request whose body can go from the parser to a sink, without the events and turns of a stream (docs/adr/0018). It is the
 * `IncomingMessage` of `createServer` (https://nodejs.org/api/http.html#httpcreateserveroptions-requestlistener). The parser passes
 * every piece, and null after the last, to `push` (https://nodejs.org/api/stream.html#readablepushchunk-encoding).
 */
export class IncomingRequest extends IncomingMessage {
  #sink: BodySink | undefined
  /** Whether the stream has received a piece of the body. */
  #begun = false
  #whole = false

  static {
    // TypeScript does not let an accessor override a declared property. Node reads readableEnded to decide whether to keep the
    // parser attached and whether a close is an abort.
    Object.defineProperty(this.prototype, 'readableEnded', {
      configurable: true,
      get(this: IncomingRequest): boolean {
        return this.#whole || (streamEnded.get!.call(this) as boolean)
      },
    })
  }

  /**
   * Gives the body to the sink instead of the stream. Answers false, and does nothing, when the stream has a part of it already or
   * nothing more will come: then the stream is to be read.
   */
  giveBody(sink: BodySink): boolean {
    if (this.#begun || this.#sink || this.destroyed) return false
    this.#sink = sink
    return true
  }

  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (this.#sink === undefined) {
      this.#begun = true
      return super.push(piece, encoding)
    }
    if (piece === null) {
      this.#whole = true
      this.#last().end()
    } else this.#sink.data(piece)
    // Never full: a sink takes what comes, or passes it over.
    return true
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (this.#sink && !this.#whole) this.#last().cut()
    super._destroy(error, callback)
  }

  #last(): BodySink {
    const sink = this.#sink!
    this.#sink = nowhere
    return sink
  }
}
