import { sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { ProviderFinding } from './check-provider.ts'

/** Sign-ins, and users, that are counted at most. */
export const countAtMost = 10_000

const day = 86_400_000

/** Sign-ins that ended within a time; `countAtMost` stands for that many or more. */
interface SignInCounts {
  day: { ok: number; failed: number }
  week: { ok: number; failed: number }
}

/** The last check of a provider, with its time in milliseconds. */
export interface LastCheck extends ProviderFinding {
  at: number
}

type CountedAction = 'user.signed_in' | 'sign_in.failed'

/** What the database knows about providers. Each query reads a bounded part of an index. */
export class ProviderStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Sign-ins of the last 24 hours and 7 days, of the audit log. */
  async signIns(provider: string, now: number): Promise<SignInCounts> {
    const [ok, failed] = await Promise.all([
      this.#count(provider, 'user.signed_in', now),
      this.#count(provider, 'sign_in.failed', now),
    ])
    return {
      day: { ok: ok.day, failed: failed.day },
      week: { ok: ok.week, failed: failed.week },
    }
  }

  /** Users whose first identity is of this provider. */
  async users(provider: string): Promise<number> {
    const some = this.#database.readerAside
      .selectFrom('users')
      .select('id')
      .where('provider', '=', provider)
      .limit(countAtMost)
      .as('some')
    const { count } = await this.#database.readerAside
      .selectFrom(some)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return count
  }

  /** The newest entry of a check; `undefined` without one. */
  async lastCheck(provider: string): Promise<LastCheck | undefined> {
    const row = await this.#database.readerAside
      .selectFrom('audit_log')
      .select(['created_at', 'detail'])
      .where('provider', '=', provider)
      // A literal: both engines use a partial index only if they see that its condition holds.
      .where(sql<boolean>`action = 'provider.checked'`)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (!row || row.detail === null) return undefined
    const { state, text } = JSON.parse(row.detail) as ProviderFinding
    return { state, text, at: row.created_at }
  }

  async #count(provider: string, action: CountedAction, now: number): Promise<{ day: number; week: number }> {
    const newest = this.#database.readerAside
      .selectFrom('audit_log')
      .select('created_at')
      .where('provider', '=', provider)
      .where(sql<boolean>`action = ${sql.lit(action)}`)
      .where('created_at', '>', now - 7 * day)
      .orderBy('created_at', 'desc')
      .limit(countAtMost)
      .as('newest')
    const counts = await this.#database.readerAside
      .selectFrom(newest)
      .select((eb) => [
        eb.fn.countAll<number>().as('week'),
        sql<number>`count(case when newest.created_at > ${now - day} then 1 end)`.as('day'),
      ])
      .executeTakeFirstOrThrow()
    return counts
  }
}
