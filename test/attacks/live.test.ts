// GET /live stays open for hours: credentials that end meanwhile, forged positions, and connections that nobody reads.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Browser, onEachEngine, started, startedService } from '#test/harness/index.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { clockWith } from '../harness/manual-clock.ts'
import { eventually } from '../receiving/harness.ts'
import { signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

/** No heartbeat comes: only what is checked before a message counts. Changes are looked for every 50 ms instead of every second. */
const withoutHeartbeat = clockWith({ 15_000: 2 ** 31, 1_000: 50 })
/** In demo mode the route is open to calls that come through no proxy. */
const viaProxy = { 'x-forwarded-for': '203.0.113.7' }

onEachEngine('attacks on GET /live', (engine) => {
  let keys: ApiKeys
  const provider = started(startHonestProvider)
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME'), ADMIN_IDENTITIES: 'acme:boss,acme:other' },
    parts: { clock: withoutHeartbeat },
  }))
  before(async () => {
    keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
  })

  /** Opens the stream. `text` grows until it ends. */
  async function open(headers: Record<string, string>) {
    const abort = new AbortController()
    const response = await fetch(`${service.baseUrl}/live`, {
      headers: { accept: 'text/event-stream', ...viaProxy, ...headers },
      signal: abort.signal,
    })
    const live = { status: response.status, text: '', ended: false, close: () => abort.abort() }
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder()
      for await (const bytes of response.body!)
        live.text += decoder.decode(bytes as Uint8Array, { stream: true })
    }
    void read()
      .catch(() => undefined)
      .finally(() => (live.ended = true))
    return live
  }
  async function withKey() {
    const { key, id } = await keys.create({ name: 'viewer', scopes: ['events:read'] }, {})
    return { id, headers: { authorization: `Bearer ${key}` } }
  }
  const emit = (id: string): Promise<Response> =>
    service.admin('/events', { method: 'POST', json: { id, type: 'order.paid', data: 1 } })

  /** Another viewer gets the event, and the one whose credential ended does not. */
  async function assertEnds(
    headers: Record<string, string>,
    id: string,
    end: () => Promise<unknown>,
  ): Promise<void> {
    const control = await open((await withKey()).headers)
    const live = await open(headers)
    await emit(`${id}-before`)
    await eventually(() => live.text.includes(`${id}-before`), 'it sees events')
    await end()
    await emit(`${id}-after`)
    await eventually(() => control.text.includes(`${id}-after`), 'others see events')
    await eventually(() => live.ended, 'it has ended')
    assert.doesNotMatch(live.text, new RegExp(`${id}-after`))
    control.close()
  }

  test('a revoked key sees nothing more', async () => {
    const { id, headers } = await withKey()
    await assertEnds(headers, 'key', () => keys.revoke(id, {}))
  })

  for (const [name, end] of [
    ['signs-out', (id: string) => service.admin(`/users/${id}/sessions`, { method: 'DELETE' })],
    ['blocked', (id: string) => service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })],
    ['deleted', (id: string) => service.admin(`/users/${id}`, { method: 'DELETE' })],
  ] as const)
    test(`a person who ${name} sees nothing more`, async () => {
      // The last admin can be neither blocked nor deleted.
      await person('other')
      const { headers, userId } = await person('boss')
      await assertEnds(headers, name, async () => assert.ok((await end(userId)).ok))
      if (name === 'blocked')
        await service.admin(`/users/${userId}`, { method: 'PATCH', json: { blocked: false } })
    })

  async function person(id: string): Promise<{ headers: Record<string, string>; userId: string }> {
    const browser = new Browser()
    await signInAs(service, browser, provider, id)
    const cookie = [...browser.cookies(service.baseUrl)].map((pair) => pair.join('=')).join('; ')
    const answer = await service.fetch('/auth/session', { headers: { cookie } })
    const { user } = (await answer.json()) as { user: { id: string } }
    return { headers: { cookie }, userId: user.id }
  }

  test('forged positions neither fail nor show more than the newest events', async () => {
    await emit('position')
    const { headers } = await withKey()
    for (const forged of [
      '0',
      '-1',
      '1e3',
      '99999999999999999999',
      '9'.repeat(5_000),
      'x',
      "' or 1=1",
      '1, 2',
    ]) {
      const live = await open({ ...headers, 'last-event-id': forged })
      assert.equal(live.status, 200, forged)
      await eventually(() => live.text.includes('event: hello'), forged)
      live.close()
    }
  })

  test('many keys and sessions of one person share an allowance, and others are served', async () => {
    const own = await person('boss')
    const open20 = await Promise.all(Array.from({ length: 20 }, () => open(own.headers)))
    assert.ok(open20.every(({ status }) => status === 200))
    const second = await person('boss')
    assert.equal((await open(second.headers)).status, 503)
    const other = await open((await person('other')).headers)
    assert.equal(other.status, 200)
    for (const live of [...open20, other]) live.close()
  })
})
