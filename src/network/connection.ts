import type { Socket } from 'node:net'

const begin = Buffer.from('HTTP/1.')
const [newline, carriageReturn, zero, one, two] = [0x0a, 0x0d, 0x30, 0x31, 0x32]
/** The place of the first digit of the status in `HTTP/1.1 200`. */
const statusAt = 9

/**
 * Follows the bytes that come over one connection. undici ends a connection at a `100 Continue` that nobody asked for, although a
 * client must accept interim answers (RFC 9110, section 15.2). It skips the other interim answers, so 100 is read as 102.
 */
export class AnswerReader {
  /** Whether a byte has come since the last request. */
  begun = false
  /** What comes next: a byte of the status line, of the head of an interim answer, or of the rest. */
  #part: 'status' | 'interim' | 'rest' = 'rest'
  #at = 0
  /** Whether the status is 10x. */
  #isEarly = false
  /** Whether the line has no byte so far. */
  #isEmptyLine = false

  expect(): void {
    this.begun = false
    this.#part = 'status'
    this.#at = 0
  }

  take(chunk: Buffer): void {
    this.begun = true
    // Almost every answer: its status line came whole, and is final.
    const isWhole = this.#part === 'status' && this.#at === 0 && chunk.length > statusAt
    if (isWhole && chunk[0] === begin[0] && chunk[statusAt] !== one) this.#part = 'rest'
    for (let index = 0; index < chunk.length && this.#part !== 'rest'; index += 1) {
      if (this.#part === 'status') this.#takeStatus(chunk, index)
      else this.#takeInterim(chunk[index]!)
    }
  }

  #takeStatus(chunk: Buffer, index: number): void {
    const byte = chunk[index]!
    const at = this.#at
    // Parsers skip line ends before an answer.
    if (at === 0 && (byte === newline || byte === carriageReturn)) return
    this.#at += 1
    if ((at < begin.length && byte !== begin[at]) || (at === statusAt && byte !== one)) this.#part = 'rest'
    else if (at === statusAt + 1) this.#isEarly = byte === zero
    else if (at === statusAt + 2) {
      if (this.#isEarly && byte === zero) chunk[index] = two
      this.#part = 'interim'
      this.#isEmptyLine = false
    }
  }

  #takeInterim(byte: number): void {
    if (byte === carriageReturn) return
    if (byte === newline && this.#isEmptyLine) {
      this.#part = 'status'
      this.#at = 0
    }
    this.#isEmptyLine = byte === newline
  }
}

const readers = new WeakMap<object, AnswerReader>()

/** Follows what a connection reads from now on. undici reads by calling `read`. */
export function followAnswers(socket: Socket): void {
  const reader = new AnswerReader()
  const read = socket.read.bind(socket)
  readers.set(socket, reader)
  socket.read = (size?: number): unknown => {
    const chunk = read(size) as Buffer | null
    if (chunk !== null) reader.take(chunk)
    return chunk
  }
}

/** Called when a request was sent, so that an answer may come now. Returns what follows the connection. */
export function expectAnswer(socket: object): AnswerReader | undefined {
  const reader = readers.get(socket)
  reader?.expect()
  return reader
}

/** The duration of each step of a connection, in milliseconds. Steps that were skipped or not finished are missing. */
export interface ConnectionPhases {
  dns?: number
  connect?: number
  tls?: number
}

export type ConnectionStep = keyof ConnectionPhases

/** A socket that is about to connect. */
type Connecting = Pick<Socket, 'prependOnceListener'>

/**
 * Times the steps of one connection. `step` is the current step: a literal address needs no look-up, and only https has a
 * TLS handshake.
 */
export class ConnectionTrace {
  readonly phases: ConnectionPhases = {}
  step: ConnectionStep
  /** Whether the name did not resolve here, and the proxy has not connected to it. */
  unresolved = false
  #since = performance.now()

  constructor(named: boolean) {
    this.step = named ? 'dns' : 'connect'
  }

  /** Records a connection that a proxy made, as one step. */
  connected(): void {
    this.unresolved = false
    this.#end('tls')
  }

  lookedUp(): void {
    this.#end('connect')
  }

  follow(socket: Connecting, tls: boolean): void {
    // Before undici's own listener, which starts the exchange.
    socket.prependOnceListener('connect', () => this.#end('tls'))
    if (tls) socket.prependOnceListener('secureConnect', () => this.#end('tls'))
  }

  #end(next: ConnectionStep): void {
    const now = performance.now()
    this.phases[this.step] = now - this.#since
    this.#since = now
    this.step = next
  }
}

/** By socket, and by the error that ended it. If several connections fail with one error, it has the trace of the last. */
const traces = new WeakMap<object, ConnectionTrace>()

export function attachTrace(of: Socket | Error, trace: ConnectionTrace): void {
  traces.set(of, trace)
}

/** Returns and removes the trace of a connection: later requests over it reuse an existing connection. */
export function takeTrace(of: object): ConnectionTrace | undefined {
  const trace = traces.get(of)
  if (trace) traces.delete(of)
  return trace
}
