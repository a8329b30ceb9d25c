import { users } from '../../src/listing/resources/users.ts'
import { CountsWriter } from '../../src/listing/counts/writer.ts'
import type { Database } from '../../src/storage/database.ts'
import { fill, padded } from '../harness/fill.ts'
import { big, bytesOf, client, day, idOf, oneOf, timeOf, type Shape } from './shape.ts'

const names = ['Ada', 'Grace', 'Alan', 'Katherine', 'Edsger', 'Barbara', 'Donald', 'Frances']
const providers = ['google', 'github', 'company']
const actions = [
  'user.signed_in',
  'user.signed_in',
  'user.signed_in',
  'sign_in.failed',
  'session.revoked',
  'key.created',
  'subscriber.changed',
]

/** Users with identities, sessions and sign-ins in an app, and the audit log. */
export async function fillPeople(database: Database, shape: Shape): Promise<void> {
  const { users: count, auditRows, now } = shape
  const id = (offset: number, n = 'n') =>
    `'${idOf(0).slice(0, -12)}' || ${padded(database, 12, `${offset} + ${n}`)}`
  const user = (n = 'n') => id(0, n)
  const at = timeOf(shape, count)
  const end = big(now + 20 * day)
  const provider = oneOf(providers, 'n')
  const name = `${oneOf(names, 'n')} || ' ' || n`
  const email = `lower(${oneOf(names, 'n')}) || n || '@example.com'`
  await fill(database, count, [
    {
      into: 'users (id, email, name, provider, provider_id, role, blocked_at, created_at, last_seen_at)',
      values: `${user()}, ${email}, ${name}, ${provider}, 'p' || n, case when n % 1000 = 0 then 'admin' else 'user' end,
        case when n % 400 = 7 then ${at} end, ${at}, ${at} + n % 7919`,
    },
    {
      into: 'identities (provider, provider_id, user_id, email, email_verified, name, created_at, last_used_at)',
      values: `${provider}, 'p' || n, ${user()}, ${email}, 1, ${name}, ${at}, ${at}`,
    },
    {
      into: 'identities (provider, provider_id, user_id, email, email_verified, name, created_at, last_used_at)',
      values: `'second', 'p' || n, ${user()}, ${email}, 1, ${name}, ${at}, ${at}`,
      where: 'n % 5 = 0',
    },
    {
      into: `sessions (id, token_hash, user_id, provider, address, user_agent, created_at, last_seen_at, expires_at, authenticated_at)`,
      // The first user has a thousand.
      values: `${id(200_000_000)}, ${bytesOf(database, padded(database, 32))}, ${user('(case when n % 100 = 99 then 0 else n end)')}, ${provider}, '203.0.113.7', 'Mozilla/5.0', ${at}, ${at}, ${end}, ${at}`,
    },
    {
      into: `token_families (id, user_id, client_id, provider, address, user_agent, created_at, last_seen_at, expires_at, authenticated_at, scope)`,
      values: `${id(400_000_000)}, ${user()}, '${client.id}', ${provider}, '203.0.113.7', 'Mozilla/5.0', ${at}, ${at}, ${end}, ${at}, 'openid'`,
      where: 'n % 2 = 0',
    },
  ])
  const time = timeOf(shape, auditRows)
  await fill(database, auditRows, [
    {
      into: 'audit_log (id, created_at, action, user_id, actor, provider, target, code, address, user_agent)',
      // A tenth is about the first user.
      values: `${id(600_000_000)}, ${time}, ${oneOf(actions, 'n')}, case when n % 10 = 0 then ${user('0')} else ${user(`(n % ${count})`)} end,
        case when n % 3 = 0 then 'user:' || ${user(`(n % ${count})`)} when n % 3 = 1 then 'cli' end, ${provider},
        case when n % 7 = 6 then 'subscriber:' || ${user('(n % 2000)')} end, case when n % 7 = 3 then 'denied' end, '203.0.113.' || (n % 250), 'Mozilla/5.0'`,
    },
  ])
  await fill(database, 500, [
    {
      into: 'jobs (id, kind, subscriber_id, filter, status, total, done, position, due_at, created_at, updated_at)',
      values: `${id(800_000_000)}, ${oneOf(['replay', 'reprocess'], 'n')}, case when n % 2 = 0 then ${user('(n % 20)')} end, '{}', ${oneOf(['done', 'done', 'cancelled', 'failed'], 'n')},
        1000, 1000, 1, ${big(now)}, ${big(now)} - n * 60000, ${big(now)} - n * 60000`,
    },
  ])
  await new CountsWriter(database, users).rebuild()
}
