import type { Spooled, SpoolFile } from '../sqlite/spool-file.ts'

/** Numbers of events in a file, from one to another, both included. */
export interface Range {
  readonly from: number
  readonly upTo: number
}

/**
 * Reads a file of spooled events in portions. An event is in one portion at a time: it is read again only after that
 * portion was given back, so several portions may be read before the first one is removed.
 */
export class FileReader {
  readonly #file: SpoolFile
  /** The number of the last event that was read. Numbers only rise, also over an empty file. */
  #position = 0
  /** Portions that were given back, to be read before what lies behind the position. */
  readonly #givenBack: Range[] = []

  constructor(file: SpoolFile) {
    this.#file = file
  }

  /** The next events, at most `limit` of them; none when all were read. @throws StorageUnavailable */
  read(limit: number): Spooled[] {
    for (let range = this.#givenBack[0]; range; range = this.#givenBack[0]) {
      const events = this.#file.oldest(limit, range.from - 1, range.upTo)
      this.#givenBack.shift()
      const last = events.at(-1)
      if (last === undefined) continue
      if (last.seq < range.upTo) this.#givenBack.unshift({ from: last.seq + 1, upTo: range.upTo })
      return events
    }
    const events = this.#file.oldest(limit, this.#position)
    this.#position = events.at(-1)?.seq ?? this.#position
    return events
  }

  /** Deletes a portion; one that cannot be deleted is given back. @throws StorageUnavailable */
  remove(range: Range): void {
    try {
      this.#file.forgetBetween(range.from, range.upTo)
    } catch (error) {
      this.giveBack(range)
      throw error
    }
  }

  /** Lets a portion be read again. */
  giveBack(range: Range): void {
    this.#givenBack.push(range)
    this.#givenBack.sort((a, b) => a.from - b.from)
  }
}
