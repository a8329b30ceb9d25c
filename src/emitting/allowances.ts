import { sql } from 'kysely'
import { Problem } from '../errors.ts'
import type { Database, Tx } from '../storage/database.ts'

/** How many at once, and the milliseconds in which one more is allowed. */
interface Allowance {
  burst: number
  every: number
  /** What is limited, for the answer. */
  of: string
}

/**
 * What sends to an address that its owner only claims to have: without a limit it could be used to flood somebody else.
 */
const allowances = {
  'test-event': { burst: 10, every: 6_000, of: 'test events' },
  replay: { burst: 60, every: 1_000, of: 'replays' },
  'bulk-replay': { burst: 10, every: 30_000, of: 'bulk replays' },
} as const satisfies Record<string, Allowance>

export type AllowanceKind = keyof typeof allowances

/** Rows of those who have their full allowance again, removed with each one taken. */
const removedAtOnce = 100

/**
 * Takes one of an allowance, within the caller's transaction. It is kept in the database, so it holds for all processes
 * together: `until` is the moment at which all of it is there again (the generic cell rate algorithm, ITU-T I.371).
 * @param holder whose allowance it is: `holderOf`
 * @throws Problem `too-many-requests`, with the seconds until one more is allowed
 */
export async function takeAllowance(
  engine: Database['engine'],
  tx: Tx,
  kind: AllowanceKind,
  holder: string,
  now: number,
): Promise<void> {
  const { burst, every, of } = allowances[kind]
  const key = `${kind} ${holder}`
  const later = engine === 'postgres' ? sql`greatest` : sql`max`
  const latest = now + (burst - 1) * every
  const taken = await sql`
    insert into allowances (key, until) values (${key}, ${now + every})
    on conflict (key) do update set until = ${later}(allowances.until, ${now}) + ${every}
    where allowances.until <= ${latest}
    returning until`.execute(tx)
  if (taken.rows.length === 0) throw await refusal(tx, key, latest, `At most ${burst} ${of} at once.`)
  // Rows that others are about to change are left: waiting for them could end in a deadlock.
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

/** All subscribers of an owner share an allowance; one without an owner has its own. */
export function holderOf({ id, owner }: { id: string; owner: string | null }): string {
  return owner === null ? `subscriber ${id}` : `owner ${owner}`
}
