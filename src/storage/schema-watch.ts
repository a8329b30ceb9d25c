import type { Clock } from '../runtime/clock.ts'
import { type PeriodicWorker, periodicWorker } from '../runtime/worker.ts'
import type { Database } from './database.ts'
import { selectUnknownBreaking, NewerDatabase } from './migrate.ts'
import { migrations as all, type Migration } from './migrations/index.ts'
import { bounded } from './postgres/driver/statement.ts'
import { StorageUnavailable } from './unavailable.ts'

/** Milliseconds between two checks. Notifications can be lost; SQLite has none, but a check takes microseconds there. */
const interval = { sqlite: 500, postgres: 5_000 }
/** Milliseconds for the statement. */
const answerWithin = 3_000

interface SchemaWatchParts {
  database: Database
  clock: Clock
  /** Called once: this program must stop to use the database. */
  onNewer: (error: NewerDatabase) => void
  migrations?: readonly Migration[]
}

/**
 * Detects that a newer version applied a breaking migration while this process runs: by the notification of the migration, on
 * each new session before its first use, and by regular checks.
 */
export class SchemaWatch {
  readonly #parts: SchemaWatchParts
  readonly #unknown: ReturnType<typeof bounded>
  #found: NewerDatabase | undefined
  #unlisten: (() => void) | undefined
  readonly #rounds: PeriodicWorker
  #stopped = false

  constructor(parts: SchemaWatchParts) {
    this.#parts = parts
    const every = interval[parts.database.engine]
    this.#rounds = periodicWorker('schema', parts.clock, every, () => this.#tryQuery())
    this.#unknown = bounded(answerWithin, selectUnknownBreaking(parts.migrations ?? all))
  }

  /** @throws NewerDatabase if the database is newer already; StorageUnavailable */
  async start(): Promise<void> {
    const { database } = this.#parts
    if (database.engine === 'postgres')
      database.addCheck(async (client) => {
        await this.#check(async (query) => (await client.query<Foreign>(query)).rows[0])
        if (this.#found) throw new StorageUnavailable(this.#found)
      })
    await this.#query()
    if (this.#found) throw this.#found
    this.#unlisten = database.onSignal('migrated', () => void this.#tryQuery())
    this.#rounds.start()
  }

  stop(): void {
    this.#stopped = true
    this.#unlisten?.()
    void this.#rounds.stop()
  }

  async #tryQuery(): Promise<void> {
    try {
      await this.#query()
    } catch {
      // The database is unavailable, which other work reports. The next session or the next check repeats this.
    }
  }

  #query(): Promise<void> {
    const { database } = this.#parts
    return this.#check(async (query) =>
      database.engine === 'sqlite'
        ? database.readConnection.get<Foreign>(query.text)
        : (await database.pool.query<Foreign>(query)).rows[0],
    )
  }

  async #check(ask: (query: ReturnType<typeof bounded>) => Promise<Foreign | undefined>): Promise<void> {
    if (this.#found || this.#stopped) return
    const foreign = await ask(this.#unknown)
    if (!foreign || this.#found) return
    this.#found = new NewerDatabase(foreign)
    this.stop()
    this.#parts.onNewer(this.#found)
  }
}

/** Selects the first breaking migration that this program does not know; for a condition of statements that claim work. */
export const anyForeignMigration = selectUnknownBreaking(all)

interface Foreign {
  number: number
  name: string
}
