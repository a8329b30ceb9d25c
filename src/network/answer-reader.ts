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
