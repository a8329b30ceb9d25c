const headEnd = '\r\n\r\n'
const contentLength = /\r\ncontent-length: *(\d+)/i

/** Reads the responses of one keep-alive connection on which one request at a time is under way. */
export class ResponseReader {
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
