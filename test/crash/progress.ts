import type { Database } from '../../src/storage/database.ts'

/** Milliseconds between two looks. */
const every = 100

/** How many have a status. */
export interface Tally {
  status: string
  count: number
}

/** How many events, or deliveries, have ended, and how many have not. */
export class Progress {
  ended = 0
  left = 0
  readonly #read: () => Promise<Tally[]>
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(read: () => Promise<Tally[]>) {
    this.#read = read
    this.#look()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #look(): void {
    void this.#count()
      // The database is somebody's who is being killed: the next look tells.
      .catch(() => undefined)
      .then(() => {
        if (!this.#stopped) this.#timer = setTimeout(() => this.#look(), every)
      })
  }

  async #count(): Promise<void> {
    const tallies = await this.#read()
    const sum = (left: boolean): number =>
      tallies.reduce((total, { status, count }) => total + (unfinished.has(status) === left ? count : 0), 0)
    this.left = sum(true)
    this.ended = sum(false)
  }
}

const unfinished = new Set(['pending', 'blocked'])

export function tallyOfEventQueue({ reader }: Database): Promise<Tally[]> {
  return reader
    .selectFrom('event_queue')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
}

export function tallyOfDeliveries({ reader }: Database): Promise<Tally[]> {
  return reader
    .selectFrom('deliveries')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
}
