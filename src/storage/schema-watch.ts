import type { Clock } from '../runtime/clock.ts'
import type { Database } from './database.ts'
import { breakingOf, foreignMigration, NewerDatabase, type Migration } from './migrate.ts'
import { migrations as all } from './migrations/index.ts'
import { bounded } from './postgres/driver/statement.ts'
import { StorageUnavailable } from './unavailable.ts'

/** Milliseconds between two looks: a notification may get lost, and on SQLite there is none. There a look costs some microseconds. */
const interval = { sqlite: 500, postgres: 5_000 }
/** Milliseconds that the answer may take. */
const answerWithin = 3_000

export interface SchemaWatchParts {
  database: Database
  clock: Clock
  /** Called once: this program must not work with the database any more. */
  onNewer: (error: NewerDatabase) => void
  migrations?: readonly Migration[]
}

/**
 * Sees that a newer version has applied a breaking migration while this process runs: by the notification of the one that
 * migrates, on each new session before anything else is done on it, and by a look from time to time.
 */
export class SchemaWatch {
  readonly #parts: SchemaWatchParts
  readonly #known: readonly number[]
  #found: NewerDatabase | undefined
  #unlisten: (() => void) | undefined
  #cancelTimer: (() => void) | undefined
  #stopped = false

  constructor(parts: SchemaWatchParts) {
    this.#parts = parts
    this.#known = breakingOf(parts.migrations ?? all)
  }

  /** @throws NewerDatabase when the database is newer already; StorageUnavailable. */
  async start(): Promise<void> {
    const { database } = this.#parts
    if (database.engine === 'postgres')
      database.addCheck(async (client) => {
        await this.#judge(async (query) => (await client.query<Foreign>(query)).rows[0])
        if (this.#found) throw new StorageUnavailable(this.#found)
      })
    await this.#look()
    if (this.#found) throw this.#found
    this.#unlisten = database.onSignal('migrated', () => void this.#lookOrWait())
    this.#schedule()
  }

  stop(): void {
    this.#stopped = true
    this.#unlisten?.()
    this.#cancelTimer?.()
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancelTimer = this.#parts.clock.after(interval[this.#parts.database.engine], () => {
      void this.#lookOrWait().then(() => this.#schedule())
    })
  }

  async #lookOrWait(): Promise<void> {
    try {
      await this.#look()
    } catch {
      // The database is away, and the work that needs it logs that. The next session or the next look finds out.
    }
  }

  #look(): Promise<void> {
    const { database } = this.#parts
    return this.#judge(async (query) =>
      database.engine === 'sqlite'
        ? database.readConnection.get<Foreign>(query.text)
        : (await database.pool.query<Foreign>(query)).rows[0],
    )
  }

  async #judge(ask: (query: ReturnType<typeof bounded>) => Promise<Foreign | undefined>): Promise<void> {
    if (this.#found || this.#stopped) return
    const foreign = await ask(bounded(answerWithin, foreignMigration(this.#known)))
    if (!foreign || this.#found) return
    this.#found = new NewerDatabase(foreign)
    this.stop()
    this.#parts.onNewer(this.#found)
  }
}

/** What this program does not know of the database; for a condition of statements that claim work. */
export const anyForeignMigration = foreignMigration(breakingOf(all))

interface Foreign {
  number: number
  name: string
}
