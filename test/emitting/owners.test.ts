import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine, started, startReceiver, each } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { change, emit, expectJson, settled, startEmitting, subscribe, until } from './harness.ts'
import { enterPortal, makeLink } from './portal-harness.ts'

type SubscriberRow = AnswerTo<'GET /subscribers'>['data'][number]
type OwnerRow = AnswerTo<'GET /owners'>['data'][number]

onEachEngine('states of subscribers and their owners', (engine) => {
  const ids: Record<string, string> = {}

  const service = started(() => startEmitting(engine))
  const works = started(() => startReceiver(204))
  const fails = started(() => startReceiver(500))
  before(async () => {
    const make = async (name: string, url: string, more: object = {}): Promise<void> => {
      ids[name] = (await subscribe(service, { url, owner: 'acme', ...more })).id
    }
    await make('active', `${works.url}/Active_100%`)
    await make('failing', fails.url)
    await make('idle', `${works.url}/idle`, { eventTypes: ['never'] })
    await make('paused', `${works.url}/paused`, { owner: 'globex/eu' })
    await make('disabled', `${works.url}/disabled`, { owner: undefined })
    for (const name of ['paused', 'disabled']) await change(service, ids[name]!, { status: name })
    await emit(service, { type: 'a', data: 1, audience: '*' })
    await settled(service, ids['active']!, 'delivered')
    await settled(service, ids['failing']!, 'dead')
  })

  const list = async (query: string): Promise<SubscriberRow[]> =>
    (await expectJson<{ data: SubscriberRow[] }>(service, 200, `/subscribers${query}`)).data

  test('each subscriber has one state and the figures of its last day', async () => {
    const rows = await until(async () => {
      const found = await list('')
      return found.find(({ id }) => id === ids['failing'])?.lastDay.failed === 2 && found
    }, 'all attempts are counted')
    for (const { id, state } of rows) assert.equal(id, ids[state])
    const day = (name: string) => rows.find(({ id }) => id === ids[name])!.lastDay
    assert.deepEqual(
      [day('active').successRate, day('failing').successRate, day('idle').successRate],
      [1, 0, null],
    )
    assert.ok(day('active').p99! >= 10)
    assert.equal(day('idle').p99, null)
    const one = await expectJson<SubscriberRow>(service, 200, `/subscribers/${ids['failing']}`)
    assert.equal(one.state, 'failing')
  })

  test('the list is filtered by state, owner and a part of the address', async () => {
    const names = async (query: string): Promise<string[]> =>
      (await list(query)).map(({ id }) => Object.keys(ids).find((name) => ids[name] === id)!).toSorted()
    for (const name of Object.keys(ids)) assert.deepEqual(await names(`?state=${name}`), [name])
    assert.deepEqual(await names('?state=failing&owner=globex%2Feu'), [])
    assert.deepEqual(await names('?url=ACTIVE_100%25'), ['active'])
    assert.deepEqual(await names('?url=_1%25'), [])
    assert.deepEqual(await names('?url=%25%25'), [])
    assert.deepEqual(await names('?url=%00'), [])
    await expectJson(service, 400, '/subscribers?state=broken')
    const path = '/subscribers?state=active&limit=1'
    const page = await expectJson<{ pageInfo: { nextCursor: string | null } }>(service, 200, path)
    assert.equal(page.pageInfo.nextCursor, null)
  })

  test('owners are listed by name, with what their subscribers do', async () => {
    const owners = async (query = ''): Promise<OwnerRow[]> =>
      (await expectJson<{ data: OwnerRow[] }>(service, 200, `/owners${query}`)).data
    const [acme, globex, ...more] = await owners()
    assert.deepEqual([acme!.owner, globex!.owner, more.length], ['acme', 'globex/eu', 0])
    assert.deepEqual([acme!.subscribers, globex!.subscribers], [3, 1])
    assert.deepEqual(acme!.states, { active: 1, idle: 1, failing: 1, paused: 0, disabled: 0 })
    assert.equal(acme!.successRate, 1 / 3)
    assert.ok(acme!.lastDelivery!.id > 0)
    assert.deepEqual([globex!.successRate, globex!.lastDelivery!.status], [null, 'pending'])
    assert.deepEqual(each(await owners('?q=GLOBEX'), 'owner'), ['globex/eu'])
    const path = '/owners?limit=1'
    const first = await expectJson<{ data: OwnerRow[]; pageInfo: { nextCursor: string } }>(service, 200, path)
    const second = await owners(`?limit=1&cursor=${first.pageInfo.nextCursor}`)
    assert.deepEqual([first.data[0]!.owner, second[0]!.owner], ['acme', 'globex/eu'])
    const one = await expectJson(service, 200, '/owners/globex%2Feu')
    assert.equal((one as OwnerRow).states['paused'], 1)
    await expectJson(service, 404, '/owners/nobody')
    await expectJson(service, 404, '/owners/%00')
    assert.equal((await service.fetch('/owners')).status, 401)
  })

  test('an owner shows a link and a session of the portal until they are revoked', async () => {
    const read = async () => await expectJson<OwnerRow>(service, 200, '/owners/acme')
    const isOpen = async () => {
      const { linkExpiresAt, sessionExpiresAt } = await read()
      return [linkExpiresAt !== null, sessionExpiresAt !== null]
    }
    assert.deepEqual(await isOpen(), [false, false])
    await enterPortal(service, 'acme')
    assert.deepEqual(await isOpen(), [false, true])
    await makeLink(service, 'acme')
    assert.deepEqual(await isOpen(), [true, true])
    await expectJson(service, 204, '/portal-links?owner=acme', { method: 'DELETE' })
    assert.deepEqual(await isOpen(), [false, false])
    await makeLink(service, 'new')
    assert.equal((await expectJson<OwnerRow>(service, 200, '/owners/new')).subscribers, 0)
  })
})
