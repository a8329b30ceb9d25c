import { sql } from 'kysely'
import { Problem } from '../../errors.ts'
import type { Database, Tx } from '../../storage/database.ts'

/** A rate limit: `burst` calls at once, then one more every `every` milliseconds. */
interface Allowance {
  burst: number
  every: number
  /** What is limited, for the error message. */
  of: string
}

/**
 * Calls that send to an address that an owner has not proved to own, because they could flood somebody else; and counts, because one
 * can read all deliveries of a subscriber.
 */
const allowances = {
  'test-event': { burst: 10, every: 6_000, of: 'test events' },
  replay: { burst: 60, every: 1_000, of: 'replays' },
  'bulk-replay': { burst: 10, every: 30_000, of: 'bulk replays' },
  'replay-count': { burst: 30, every: 2_000, of: 'counts of deliveries' },
} as const satisfies Record<string, Allowance>

export type AllowanceKind = keyof typeof allowances

/** Rows with a full allowance that each call removes at most. */
const removedAtOnce = 100

/**
 * Counts one call against an allowance, in the caller's transaction. All processes share it through the database: `until` is
 * the time at which it is full again (the generic cell rate algorithm, ITU-T I.371).
 * @param of all subscribers of an owner share an allowance; a subscriber without an owner has its own
 * @throws Problem `too-many-requests`, with the seconds until one more is allowed
 */
export async function takeAllowance(
  engine: Database['engine'],
  tx: Tx,
  {
    kind,
    of: { id, owner },
    now,
  }: { kind: AllowanceKind; of: { id: string; owner: string | null }; now: number },
): Promise<void> {
  const { burst, every, of: what } = allowances[kind]
  const key = owner === null ? `${kind} subscriber ${id}` : `${kind} owner ${owner}`
  const later = engine === 'postgres' ? sql`greatest` : sql`max`
  const latest = now + (burst - 1) * every
  const taken = await sql`
    insert into allowances (key, until) values (${key}, ${now + every})
    on conflict (key) do update set until = ${later}(allowances.until, ${now}) + ${every}
    where allowances.until <= ${latest}
    returning until`.execute(tx)
  if (taken.rows.length === 0) throw await refusal(tx, key, latest, `At most ${burst} ${what} at once.`)
  // Skips locked rows: waiting for other transactions could deadlock.
  const locking = engine === 'postgres' ? sql`for update skip locked` : sql``
  await sql`
    delete from allowances where key in (
      select key from allowances where until <= ${now} limit ${removedAtOnce} ${locking}
    )`.execute(tx)
}

async function refusal(tx: Tx, key: string, latest: number, detail: string): Promise<Problem> {
  const row = await tx.selectFrom('allowances').select('until').where('key', '=', key).executeTakeFirst()
  const wait = Math.max(0, (row?.until ?? latest) - latest)
  return new Problem('too-many-requests', { retryAfter: Math.max(1, Math.ceil(wait / 1000)), detail })
}
