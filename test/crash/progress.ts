import type { Database } from '../../src/storage/database.ts'

/** Milliseconds between two looks. */
const every = 100

/** How many events have ended, processed or failed, and how many have not. */
export class Progress {
  ended = 0
  left = 0
  readonly #database: Database
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(database: Database) {
    this.#database = database
    this.#look()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #look(): void {
    void this.#read()
      // The database is somebody's who is being killed: the next look tells.
      .catch(() => undefined)
      .then(() => {
        if (!this.#stopped) this.#timer = setTimeout(() => this.#look(), every)
      })
  }

  async #read(): Promise<void> {
    const rows = await this.#database.reader
      .selectFrom('inbox')
      .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
      .groupBy('status')
      .execute()
    const sum = (...statuses: string[]): number =>
      rows.filter(({ status }) => statuses.includes(status)).reduce((total, { count }) => total + count, 0)
    this.ended = sum('processed', 'failed')
    this.left = sum('pending', 'blocked')
  }
}
