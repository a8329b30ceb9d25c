import type { IdStream, ReadStreams, StreamRequest } from './id-streams.ts'

/** Ids that one statement reads, unless it reads one of each stream. */
const mostRead = 4_000
/** Ids that are read of each stream at least, when more than one is. */
const fewest = 8

/** What has been read of a stream. */
interface Reading {
  readonly stream: IdStream
  /** Descending. */
  ids: number[]
  /** All ids of the stream from here on upwards have been read. */
  through: number
  ended: boolean
}

/** Merges streams by descending ids. It reads little more than it returns, however many streams there are and wherever their ids lie. */
export class StreamMerge {
  readonly #read: ReadStreams
  readonly #lowest: number
  readonly #readings: Reading[]

  /** @param range from the lowest id to the one before the highest */
  constructor(read: ReadStreams, streams: readonly IdStream[], range: { from: number; before: number }) {
    this.#read = read
    this.#lowest = range.from
    this.#readings = streams.map((stream) => ({ stream, ids: [], through: range.before, ended: false }))
  }

  /** The next ids, at most `count`, and whether there may be more behind them. At least one, unless there are no more. */
  async next(count: number): Promise<{ ids: number[]; more: boolean }> {
    const short = this.#open.filter(({ ids }) => ids.length < count)
    if (short.length * count <= mostRead) await this.#readOn(short, this.#lowest, count)
    else await this.#readMany(count)
    // Of what is below the highest end of a reading, some may not have been read.
    const complete = this.#open.reduce((highest, { through }) => Math.max(highest, through), 0)
    const ids = this.#readings
      .flatMap((reading) => reading.ids.filter((id) => id >= complete))
      .toSorted((a, b) => b - a)
      .slice(0, count)
    const last = ids.at(-1)
    if (last !== undefined)
      for (const reading of this.#readings) reading.ids = reading.ids.filter((id) => id < last)
    return { ids, more: this.#readings.some((reading) => !reading.ended || reading.ids.length > 0) }
  }

  get #open(): Reading[] {
    return this.#readings.filter(({ ended }) => !ended)
  }

  async #readMany(count: number): Promise<void> {
    await this.#readOn(
      this.#open.filter(({ ids }) => ids.length === 0),
      this.#lowest,
      1,
    )
    // So many streams have an id from here on upwards, so nothing below is among the next ones.
    const heads = this.#readings.flatMap(({ ids }) => ids.slice(0, 1)).toSorted((a, b) => b - a)
    const from = heads[count - 1] ?? this.#lowest
    let short = this.#open.filter(({ through }) => through > from)
    for (let before = Infinity; short.length > 0 && short.length <= before / 2;) {
      before = short.length
      const each = Math.min(count, Math.max(fewest, Math.floor(mostRead / before)))
      await this.#readOn(short, from, each)
      // A few streams can have most of the ids.
      short = short.filter(({ ended, through, ids }) => !ended && through > from && ids.length < count)
    }
  }

  async #readOn(readings: readonly Reading[], from: number, count: number): Promise<void> {
    if (readings.length === 0) return
    const requests = readings.map(({ stream, through }): StreamRequest => ({ stream, before: through }))
    const found = await this.#read(requests, from, count)
    for (const [index, reading] of readings.entries()) {
      const ids = found[index]!
      reading.ids.push(...ids)
      reading.through = ids.length < count ? from : ids.at(-1)!
      reading.ended = reading.through <= this.#lowest
    }
  }
}
