import type { EventLog } from '../log.ts'
import type { EventRow } from '../store.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

/** New events of one look that are sent one by one. */
const mostNew = 50
/** The newest events that are buffered, from which viewers resume. */
const bufferSize = 200
/** Recent events whose status may still change and is read again at each look. */
const mostUnsettled = 200

const unsettled: ReadonlySet<EventRow['status']> = new Set(['pending', 'retrying', 'blocked'])

export interface News {
  /** New events, oldest first. */
  added: EventRow[]
  /** Events whose status changed. */
  changed: EventRow[]
  /** Whether more events came than `added` has: then it has the newest ones. */
  gap: boolean
}

/** What is new at the end of the event log, and which of the recent events changed. */
export class EventFeed {
  readonly #log: EventLog
  #position = 0
  #buffer: EventRow[] = []
  /** All events above this number are in the buffer. */
  #bufferedFrom = 0
  readonly #unsettled = new BoundedCache<number, EventRow['status']>(mostUnsettled)

  constructor(log: EventLog) {
    this.#log = log
  }

  /** The newest event that was found. */
  get position(): number {
    return this.#position
  }

  /** Begins at the end of the log. @throws StorageUnavailable */
  async start(): Promise<void> {
    const { rows } = await this.#log.newest(Number.MAX_SAFE_INTEGER, bufferSize)
    this.#unsettled.clear()
    this.#position = rows[0]?.id ?? 0
    this.#bufferedFrom = 0
    this.#setBuffer(rows.toReversed(), rows.length === bufferSize)
    for (const row of this.#buffer) this.#note(row)
  }

  /**
   * @param others further events that may have changed
   * @throws StorageUnavailable
   */
  async look(others: readonly number[]): Promise<News> {
    const before = new Map(this.#unsettled)
    const found = await this.#log.some([...new Set([...before.keys(), ...others])])
    const changed = found.filter(({ id, status }) => id <= this.#position && before.get(id) !== status)
    // Also those that were deleted.
    this.#unsettled.clear()
    for (const row of found) this.#note(row)
    const { rows, hasNext } = await this.#log.page(this.#position, mostNew)
    const added = hasNext
      ? (await this.#log.newest(Number.MAX_SAFE_INTEGER, mostNew)).rows.toReversed()
      : rows
    for (const row of added) this.#note(row)
    this.#position = added.at(-1)?.id ?? this.#position
    this.#setBuffer(hasNext ? added : [...this.#buffer, ...added], hasNext)
    return { added, changed, gap: hasNext }
  }

  /** The events behind `position`, oldest first; undefined if more came than the buffer holds. */
  since(position: number): EventRow[] | undefined {
    return position < this.#bufferedFrom ? undefined : this.#buffer.filter(({ id }) => id > position)
  }

  /** @param cut whether there are older events that `rows` does not have */
  #setBuffer(rows: EventRow[], cut: boolean): void {
    this.#buffer = rows.slice(-bufferSize)
    if ((cut || rows.length > bufferSize) && rows.length > 0) this.#bufferedFrom = this.#buffer[0]!.id - 1
  }

  #note({ id, status }: EventRow): void {
    this.#unsettled.delete(id)
    if (unsettled.has(status)) this.#unsettled.set(id, status)
  }
}
