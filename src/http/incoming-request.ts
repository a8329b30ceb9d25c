import { IncomingMessage } from 'node:http'

/** Takes the body of a request, piece by piece. After `end` or `cut` nothing more comes. */
export interface BodySink {
  /** The piece is nobody else's. */
  data(piece: Buffer): void
  /** All of it has come. */
  end(): void
  /** The connection ended before, or was found to be broken. */
  cut(): void
}

/** What a sink that is finished leaves in its place: what still comes is passed over. */
const nowhere: BodySink = { data: () => undefined, end: () => undefined, cut: () => undefined }
const streamEnded = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(IncomingMessage.prototype),
  'readableEnded',
)!

/**
 * A request whose body can be had as the parser finds it, past the stream that Node makes of it: the stream's events and
 * turns of the loop are a twentieth of what a webhook costs the thread. It is given to `createServer` as its `IncomingMessage`
 * (https://nodejs.org/api/http.html#httpcreateserveroptions-requestlistener); the parser hands every piece, and null behind
 * the last, to `push` (https://nodejs.org/api/stream.html#readablepushchunk-encoding).
 */
export class IncomingRequest extends IncomingMessage {
  #sink: BodySink | undefined
  /** Whether the stream has something of the body. */
  #begun = false
  #whole = false

  static {
    // An accessor, which TypeScript does not let override what is declared as a property. Node asks it whether somebody is still to
    // read the body: then the parser keeps the request, and one that is closed counts as cut off.
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
