import type { ExpressionBuilder } from 'kysely'
import type { RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import { announceClients } from './clients.ts'

/** Clients that registered themselves at most; parallel registrations may exceed each of these limits by a few. */
const mostRegistered = 10_000
/** Those of one address that were never used: an office behind one address has people who do not finish. */
const mostUnused = 50
/** Milliseconds after which a client that registered itself and was never used is deleted. */
const unusedRetention = 86_400_000
/** Rows of one transaction at most, so that other writers do not wait long. */
const batch = 100

/**
 * @param network the address that registers a client, or its IPv6 network; `undefined` when it does not count
 * @throws Problem `conflict`, `too-many-requests`
 */
export async function rejectTooMany(
  tx: Tx,
  network: string | undefined,
  now: number,
  { all = mostRegistered, unused = mostUnused }: { all?: number; unused?: number } = {},
): Promise<void> {
  const beyond = await tx
    .selectFrom('clients')
    .select('id')
    .where('origin', '=', 'registration')
    .orderBy('created_at')
    .limit(1)
    .offset(all - 1)
    .executeTakeFirst()
  if (beyond) throw new Problem('conflict', { detail: `${all} apps have registered themselves.` })
  if (network === undefined) return
  const waiting = await tx
    .selectFrom('clients')
    .select('created_at')
    .where('registered_from', '=', network)
    .where(isUnused)
    .orderBy('created_at')
    .limit(unused)
    .execute()
  if (waiting.length < unused) return
  throw new Problem('too-many-requests', {
    detail: `${unused} apps that this address registered are waiting for their first sign-in. Unused apps are deleted after a day.`,
    advice:
      'Sign in with an app that is registered already, or register again after the time in Retry-After.',
    retryAfter: Math.max(60, (waiting[0]!.created_at + unusedRetention - now) / 1000),
  })
}

/**
 * A registered client that no user signs in with, that no user allowed, and that nobody changed: an admin who changed one wants to keep
 * it, and it may be used without a user.
 */
function isUnused(eb: ExpressionBuilder<Tables, 'clients'>) {
  const families = eb.selectFrom('token_families').select('id').whereRef('client_id', '=', 'clients.id')
  const consents = eb.selectFrom('consents').select('user_id').whereRef('client_id', '=', 'clients.id')
  return eb.and([
    eb('origin', '=', 'registration'),
    eb('updated_at', '=', eb.ref('created_at')),
    eb.not(eb.exists(families)),
    eb.not(eb.exists(consents)),
  ])
}

/** Deletes registered clients that stayed unused for a day. Each deletion is recorded. */
export async function deleteUnusedRegistrations(
  database: Database,
  record: RecordAudit,
  now: number,
): Promise<void> {
  for (let deleted = batch; deleted === batch;)
    deleted = await database.inBackground((tx) => deleteSome(tx, database, record, now))
  // The address served the limit only.
  await database.inBackground((tx) =>
    tx
      .updateTable('clients')
      .set({ registered_from: null })
      .where('registered_from', 'is not', null)
      .where('created_at', '<=', now - unusedRetention)
      .execute(),
  )
}

async function deleteSome(tx: Tx, database: Database, record: RecordAudit, now: number): Promise<number> {
  const unused = tx
    .selectFrom('clients')
    .select('id')
    .where('created_at', '<=', now - unusedRetention)
    .where(isUnused)
    .limit(batch)
  const deleted = await tx
    .deleteFrom('clients')
    .where('id', 'in', unused)
    .returning(['id', 'name', 'confidential'])
    .execute()
  for (const { id, name, confidential } of deleted)
    await record(tx, {
      actor: 'schedule',
      action: 'client.deleted',
      target: `app:${id}`,
      detail: { name, confidential: confidential === 1, reason: 'unused' },
    })
  if (deleted.length > 0) await announceClients(database, tx)
  return deleted.length
}
