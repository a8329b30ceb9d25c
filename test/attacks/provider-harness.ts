// What the attacks on the OpenID Provider have in common.
import assert from 'node:assert/strict'
import { Browser } from '#test/harness/browser.ts'
import type { Engine } from '#test/harness/engines.ts'
import { nextMinute } from '#test/harness/minute.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { signIn } from '../login/harness.ts'

export interface AttackedProvider {
  service: TestService
  upstream: OAuthProvider
  /** A browser in which this person has signed in. */
  browserOf: (person: string, browser?: Browser) => Promise<Browser>
  /** Moves the clock of the service. */
  pass: (milliseconds: number) => void
  /** Stops the clock of the service, at the beginning of a minute. */
  stopClock: () => void
  close: () => Promise<void>
}

/** A service with these clients, whose only provider signs in the person of `upstream.profile`. */
export async function startAttackedProvider(
  engine: Engine,
  login: NonNullable<PosternConfig['login']>,
  env: Record<string, string> = {},
): Promise<AttackedProvider> {
  const upstream = await startOAuthProvider()
  let shift = 0
  let stoppedAt: number | undefined
  const service = await startTestService(engine, {
    env: { ...upstream.env('ACME'), ...env },
    config: { login },
    parts: { clock: { ...systemClock, now: () => (stoppedAt ?? Date.now()) + shift } },
  })
  return {
    service,
    upstream,
    async browserOf(person, browser = new Browser()) {
      upstream.profile = { id: person, name: person }
      await signIn(service, browser)
      return browser
    },
    pass: (milliseconds) => (shift += milliseconds),
    stopClock: () => (stoppedAt = nextMinute()),
    async close() {
      await service.close()
      await upstream.close()
    },
  }
}

/** The newest audit entry. */
export async function newestAudit({ database }: TestService) {
  return database.reader
    .selectFrom('audit_log')
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
}

/** The numbers of codes, token families, refresh tokens, sessions and stored requests. */
async function issued({ database: { reader } }: TestService): Promise<number[]> {
  const tables = [
    'authorization_codes',
    'token_families',
    'refresh_tokens',
    'sessions',
    'authorization_requests',
    'consents',
  ] as const
  const count = async (table: (typeof tables)[number]): Promise<number> => {
    const rows = await reader
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return rows.count
  }
  return Promise.all(tables.map(count))
}

/** During the attack nothing is issued or stored; its refusal has this audit entry, or none. */
export async function assertRecorded(
  attacked: Pick<AttackedProvider, 'service' | 'pass'>,
  entry: { action: string; code: string | null; target?: string | null } | undefined,
  attack: () => Promise<unknown>,
): Promise<void> {
  const { service, pass } = attacked
  const before = await issued(service)
  const { id } = await newestAudit(service)
  await attack()
  assert.deepEqual(await issued(service), before, 'something was issued or stored')
  const newest = await newestAudit(service)
  // Of many refusals in a minute only the first ten are recorded.
  pass(10_000)
  if (entry === undefined) return assert.equal(newest.id, id, `an audit entry: ${newest.action}`)
  assert.notEqual(newest.id, id, 'no audit entry')
  assert.deepEqual([newest.action, newest.code], [entry.action, entry.code])
  if (entry.target !== undefined) assert.equal(newest.target, entry.target)
  assert.ok(newest.address)
}

/** An authorization request that gets an error page and no redirect, with its audit entry. */
export async function assertPageOfRefusal(
  attacked: Pick<AttackedProvider, 'service' | 'pass'>,
  { browser = new Browser(), url, code }: { browser?: Browser; url: URL; code: string },
): Promise<void> {
  await assertRecorded(attacked, { action: 'app.refused', code }, async () => {
    const answer = await browser.go(url, { headers: { accept: 'text/html' } })
    const page = await answer.text()
    assert.equal(answer.status, 400, page)
    assert.equal(answer.headers.get('location'), null)
    assert.equal(answer.headers.get('refresh'), null)
    assert.match(answer.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
    assert.doesNotMatch(page, /evil|<script|http-equiv/)
  })
}

/** An authorization request that is answered with an error at the redirect URI, with its audit entry. */
export async function assertErrorAtApp(
  attacked: Pick<AttackedProvider, 'service' | 'pass'>,
  { browser = new Browser(), url, error }: { browser?: Browser; url: URL; error: string },
): Promise<URL> {
  let target: URL | undefined
  await assertRecorded(attacked, { action: 'app.refused', code: error }, async () => {
    const answer = await browser.go(url)
    assert.equal(answer.status, 303, await answer.text())
    target = new URL(answer.headers.get('location')!)
    const { searchParams } = target
    assert.equal(searchParams.get('error'), error)
    assert.equal(searchParams.get('code'), null)
    assert.deepEqual(searchParams.getAll('iss'), [attacked.service.baseUrl])
  })
  return target!
}
