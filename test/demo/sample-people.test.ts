// Demo mode has people before the newcomer signs in.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Browser } from '../harness/browser.ts'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { eventually } from '../receiving/harness.ts'

interface Row {
  [field: string]: unknown
}

onEachEngine('sample people', (engine) => {
  let service: TestService
  before(async () => {
    service = await startTestService(engine, { parts: { samples: true } })
    await service.fetch('/login')
    await eventually(async () => (await read('/jobs')).data.length === 3, 'the samples are filled')
  })
  after(() => service?.close())

  const read = async (path: string): Promise<{ data: Row[] } & Row> => {
    const response = await service.admin(path)
    assert.equal(response.status, 200, path)
    return (await response.json()) as { data: Row[] } & Row
  }
  const people = async (): Promise<Map<unknown, Row>> =>
    new Map((await read('/users?limit=100')).data.map((row) => [row['name'], row]))
  const userId = async (name: string): Promise<string> => String((await people()).get(name)!['id'])

  test('there are several people with roles, and one is blocked', async () => {
    const all = await people()
    assert.equal(all.size, 7)
    assert.deepEqual(
      [...all.values()].filter(({ role }) => role === 'admin').map(({ name }) => name),
      ['Ada Lovelace', 'Grace Hopper'],
    )
    const blocked = await read('/users?blocked=true')
    assert.deepEqual(
      blocked.data.map(({ name }) => name),
      ['Charles Babbage'],
    )
  })

  test('they have identities, devices and a history', async () => {
    const grace = await userId('Grace Hopper')
    const identities = (await read(`/users/${grace}/identities`)).data
    assert.equal(identities.length, 1)
    const devices = (await read(`/users/${grace}/sessions`)).data
    assert.deepEqual(
      new Set(devices.map(({ device }) => device)),
      new Set(['Safari on macOS', 'Safari on iPad']),
    )
    const actions = new Set((await read(`/audit?userId=${grace}&limit=100`)).data.map(({ action }) => action))
    for (const action of ['user.created', 'user.signed_in', 'user.role_changed'])
      assert.ok(actions.has(action), action)
    assert.deepEqual((await read(`/users/${await userId('Charles Babbage')}/sessions`)).data, [])
  })

  test('the provider and the charts count the same sign-ins', async () => {
    const [provider] = (await read('/providers')).data
    const { week } = provider!['signIns'] as { week: { ok: number; failed: number } }
    const from = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 7 * 86_400_000).toISOString()
    const history = await read(`/metrics/history?series=signIns&from=${from}`)
    const { ok, failed } = (history['series'] as { signIns: { total: { ok: number; failed: number } } })
      .signIns.total
    assert.deepEqual([ok, failed], [week.ok, week.failed])
    assert.ok(ok > 10)
    assert.equal(failed, 2)
  })

  test('a person of the samples signs in to their account; a blocked one cannot', async () => {
    const before = (await people()).size
    assert.equal(await signIn({ person: 'grace' }), 'dashboard')
    assert.equal(await signIn({ name: 'Charles Babbage' }), 'account-blocked')
    assert.equal((await people()).size, before)
  })

  /** Signs in at the provider of demo mode. Returns `dashboard`, or the code of the refusal. */
  async function signIn(form: Record<string, string>): Promise<string | null> {
    const browser = new Browser()
    const { url } = await browser.follow(new URL('/auth/demo', service.baseUrl))
    const body = new URLSearchParams(form)
    const chosen = await browser.go(url, { method: 'POST', body })
    const next = new URL(chosen.headers.get('location')!, url)
    const { url: last } = await browser.follow(next, ({ pathname }) => pathname !== '/dashboard')
    const refused = last.searchParams.get('error')
    return refused ?? 'dashboard'
  }
})
