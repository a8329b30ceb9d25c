import type { Insertable } from 'kysely'
import { idOf } from '../crypto/ids.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database } from '../storage/database.ts'
import type { ApiKeysTable, IdentitiesTable, SessionsTable, UsersTable } from '../storage/tables.ts'
import { isUniqueViolation } from '../storage/unavailable.ts'
import { demoProviderName as provider } from './identity-provider.ts'
import type { Person } from './people.ts'
import { sampleAccounts, type SampleDevice } from './sample-accounts.ts'
import type { CountedSignIn } from './sample-history.ts'
import { sampleApp } from './sample-app.ts'
import { sampleKeys } from './sample-keys.ts'
import {
  accountEntries,
  signInsWith,
  startOf,
  strangersEntries,
  useEntries,
  type SampleAuditRow,
  type SampleUser,
} from './sample-audit.ts'

const hour = 3_600_000
const day = 24 * hour

interface SamplePeople {
  app: ReturnType<typeof sampleApp>
  keys: ApiKeysTable[]
  users: Insertable<UsersTable>[]
  identities: IdentitiesTable[]
  sessions: SessionsTable[]
  /** In order of time. */
  audit: SampleAuditRow[]
}

/**
 * People, their devices and API keys, and a month of their sign-ins. Nobody has the tokens of these sessions, or the keys.
 * @param now milliseconds since 1970
 * @param lifetime milliseconds of a session
 */
export function samplePeople(now: number, lifetime: number): SamplePeople {
  const users = sampleAccounts.map((account): SampleUser => {
    const userId = idOf(startOf({ now, account }))
    return { now, userId, account }
  })
  const admin = `user:${users[0]!.userId}`
  const { keys, audit } = sampleKeys(now, admin)
  const all: SamplePeople = {
    app: sampleApp(now, users, lifetime),
    keys,
    users: [],
    identities: [],
    sessions: [],
    audit: [...strangersEntries(now), ...audit],
  }
  for (const [index, user] of users.entries()) {
    all.users.push(userRow(user))
    all.identities.push(...identityRows(user))
    for (const [place, device] of user.account.devices.entries()) {
      const times = signInsWith(user, device, index * 10 + place)
      all.audit.push(...useEntries(user, device, times))
      const last = times.at(-1)
      const isOver = device.signedOut || user.account.blocked !== undefined
      if (last !== undefined && !isOver) all.sessions.push(sessionRow(user, device, last, lifetime))
    }
    all.audit.push(...accountEntries(user, admin))
  }
  all.audit.sort((a, b) => a.created_at - b.created_at)
  return all
}

const lastUse = ({ now, account }: SampleUser): number =>
  Math.max(...account.devices.map(({ seen }) => now - seen * hour))

function userRow(user: SampleUser): Insertable<UsersTable> {
  const { person, role, blocked } = user.account
  return {
    id: user.userId,
    email: person.email ?? null,
    name: person.name,
    provider,
    provider_id: person.id,
    role,
    blocked_at: blocked === undefined ? null : user.now - blocked * day,
    created_at: startOf(user),
    last_seen_at: lastUse(user),
  }
}

function identityRows(user: SampleUser): IdentitiesTable[] {
  const { person, second } = user.account
  const row = (one: Person, at: number, last: number): IdentitiesTable => ({
    provider,
    provider_id: one.id,
    user_id: user.userId,
    // The first real sign-in binds it to the address of the service.
    issuer: null,
    email: one.email ?? null,
    email_verified: one.email === undefined ? 0 : 1,
    name: one.name,
    picture: null,
    groups: null,
    admin_group: null,
    created_at: at,
    last_used_at: last,
    updated_at: null,
  })
  const rows = [row(person, startOf(user), lastUse(user))]
  if (second) {
    const linked = user.now - second.linked * day
    rows.push(row(second.person, linked, linked))
  }
  return rows
}

function sessionRow(
  user: SampleUser,
  { userAgent, address, seen }: SampleDevice,
  at: number,
  lifetime: number,
): SessionsTable {
  return {
    id: idOf(at, 1),
    token_hash: hashToken(newToken()),
    user_id: user.userId,
    provider,
    address,
    user_agent: userAgent,
    created_at: at,
    last_seen_at: user.now - seen * hour,
    authenticated_at: at,
    authentication_proof: 'verified',
    acr: null,
    amr: null,
    expires_at: at + lifetime,
    revoked_at: null,
  }
}

/** Rows of one statement: SQLite takes 32,766 parameters at most. */
const perStatement = 200

/** Inserts them into a database without users, and returns their sign-ins; otherwise does nothing. */
export async function insertSamplePeople(
  database: Database,
  now: number,
  lifetime: number,
): Promise<CountedSignIn[]> {
  const { users, identities, sessions, audit, app, keys } = samplePeople(now, lifetime)
  let inserted = false
  await database
    .transaction(async (tx) => {
      if (await tx.selectFrom('users').select('id').limit(1).executeTakeFirst()) return
      await tx.insertInto('users').values(users).execute()
      await tx.insertInto('identities').values(identities).execute()
      await tx.insertInto('sessions').values(sessions).execute()
      await tx.insertInto('api_keys').values(keys).execute()
      await tx.insertInto('clients').values(app.client).execute()
      await tx.insertInto('token_families').values(app.families).execute()
      await tx.insertInto('consents').values(app.consents).execute()
      inserted = true
      for (let from = 0; from < audit.length; from += perStatement)
        await tx
          .insertInto('audit_log')
          .values(audit.slice(from, from + perStatement))
          .execute()
    })
    .catch((error: unknown) => {
      // Another process started at the same time and inserted the same identities.
      if (!isUniqueViolation(error)) throw error
      inserted = false
    })
  return inserted ? signInsOf(audit) : []
}

function signInsOf(audit: readonly SampleAuditRow[]): CountedSignIn[] {
  return audit
    .filter(({ action }) => action === 'user.signed_in' || action === 'sign_in.failed')
    .map(({ created_at: at, code }) => ({ at, failed: code !== null }))
}
