// Events about deliveries and subscribers, for the subscribers that admins marked for them.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Compile } from 'typebox/schema'
import {
  onEachEngine,
  type Receiver,
  started,
  startReceiver,
  type TestService,
  fields,
} from '../harness/index.ts'
import {
  untilStatus,
  change,
  deliveries,
  emit,
  dataOf,
  expectJson,
  removeSubscribers,
  settled,
  startEmitting,
  subscribe,
  until,
} from './harness.ts'

interface Notice {
  type: string
  data: {
    subscriber: { id: string; owner: string | null }
    delivery?: { id: number; eventId: string; attempts: number; status: number | null; error: string | null }
    reason?: string
  }
}

const read = ({ calls }: Receiver): Notice[] => calls.map(({ body }) => JSON.parse(body.toString()) as Notice)
const eventsOf = (service: TestService) => dataOf<{ type: string }>(service, '/events?limit=100')
const typesOf = (receiver: Receiver): string[] => read(receiver).map(({ type }) => type)

/** What is sent is what the catalogue says. */
async function areOfTheCatalogue(service: TestService, notices: readonly Notice[]): Promise<void> {
  const data = await dataOf<{ type: string; schema: object }>(service, '/event-types')
  for (const notice of notices) {
    const { schema } = data.find(({ type }) => type === notice.type)!
    assert.ok(Compile(schema).Check(notice.data), JSON.stringify(notice))
  }
}

onEachEngine('operational events', (engine) => {
  const service = started(() => startEmitting(engine))
  afterEach(() => removeSubscribers(service))

  test('a failing subscriber causes one event, and another one when it recovers', async () => {
    await using admins = await startReceiver()
    await using receiver = await startReceiver(500)
    await subscribe(service, { url: admins.url, operational: true })
    const retrySchedule = [0, ...Array.from({ length: 8 }, () => 0.02), 60]
    const { id } = await subscribe(service, { url: receiver.url, owner: 'acme', retrySchedule })
    for (let n = 0; n < 3; n += 1) await emit(service, { id: `e-${n}`, type: 'a', data: n, audience: 'acme' })
    await admins.waitFor(1)
    const shown = await expectJson<{ failingSince: string | null }>(service, 200, `/subscribers/${id}`)
    assert.notEqual(shown.failingSince, null)
    await receiver.waitFor(15)
    receiver.answer(204)
    await admins.waitFor(2)
    await untilStatus(service, id, 'delivered', 3)
    assert.deepEqual(typesOf(admins), ['delivery.failing', 'delivery.recovered'])
    const [failing, recovered] = read(admins)
    assert.deepEqual(failing!.data.subscriber, { id, url: receiver.url, owner: 'acme' })
    assert.deepEqual(
      [failing!.data.delivery!.attempts, failing!.data.delivery!.status, failing!.data.delivery!.error],
      [3, 500, 'returned HTTP 500'],
    )
    assert.equal(recovered!.data.delivery!.status, 204)
    await areOfTheCatalogue(service, read(admins))
    const after = await expectJson<{ failingSince: string | null }>(service, 200, `/subscribers/${id}`)
    assert.equal(after.failingSince, null)
  })

  test('dead letters and disabled subscribers cause events with the reason', async () => {
    await using admins = await startReceiver()
    await using receiver = await startReceiver(500)
    await using gone = await startReceiver(410)
    await subscribe(service, { url: admins.url, operational: true })
    const failing = await subscribe(service, { url: receiver.url, eventTypes: ['dead'] })
    const leaving = await subscribe(service, { url: gone.url, eventTypes: ['gone'] })
    await emit(service, { id: 'd-1', type: 'dead', data: 1 })
    await admins.waitFor(1)
    await emit(service, { id: 'g-1', type: 'gone', data: 1 })
    await admins.waitFor(3)
    await change(service, failing.id, { status: 'disabled' })
    await change(service, failing.id, { status: 'disabled' })
    await admins.waitFor(4)
    const notices = read(admins)
    assert.deepEqual(typesOf(admins).toSorted(), [
      'delivery.dead',
      'delivery.dead',
      'subscriber.disabled',
      'subscriber.disabled',
    ])
    assert.equal(notices[0]!.data.delivery!.eventId, 'd-1')
    await areOfTheCatalogue(service, notices)
    const reasons = notices.filter(({ type }) => type === 'subscriber.disabled')
    assert.deepEqual(
      reasons.map(({ data }) => [data.subscriber.id, data.reason]),
      [
        [leaving.id, 'The endpoint returned HTTP 410 Gone.'],
        [failing.id, 'Disabled by an API request.'],
      ],
    )
  })

  test('operational subscribers cause no operational events, and get no other events', async () => {
    const disabledOnes = async (): Promise<number> =>
      (await eventsOf(service)).filter(({ type }) => type === 'subscriber.disabled').length
    const before = await disabledOnes()
    await using admins = await startReceiver()
    await using broken = await startReceiver(500)
    const chosen = await subscribe(service, {
      url: admins.url,
      operational: true,
      eventTypes: ['delivery.*'],
      conditions: [{ path: '/subscriber/owner', op: 'eq', value: 'acme' }],
    })
    const failing = await subscribe(service, { url: broken.url, operational: true })
    const acme = await subscribe(service, { url: broken.url, owner: 'acme' })
    const globex = await subscribe(service, { url: broken.url, owner: 'globex' })
    await emit(service, { type: 'a', data: 1, audience: '*' })
    await emit(service, { type: 'delivery.dead', data: 'not from here', audience: '*' })
    await admins.waitFor(2)
    // Both dead letters of acme, both of globex, told to the broken one, whose own failures end there.
    await untilStatus(service, failing.id, 'dead', 4)
    await settled(service, globex.id, 'dead')
    await until(
      async () => (await deliveries(service, chosen.id)).every(({ status }) => status === 'delivered'),
      'the chosen ones are recorded',
    )
    assert.deepEqual(fields(await deliveries(service, chosen.id), 'status', 'eventType'), [
      ['delivered', 'delivery.dead'],
      ['delivered', 'delivery.dead'],
    ])
    assert.ok(read(admins).every(({ data }) => data.subscriber.id === acme.id))
    await change(service, failing.id, { status: 'disabled' })
    assert.equal((await deliveries(service, failing.id)).length, 4)
    assert.equal(await disabledOnes(), before)
    // It has no owner, and is given none.
    await expectJson(service, 400, '/subscribers', {
      method: 'POST',
      json: { url: admins.url, owner: 'acme', operational: true },
    })
    await change(service, chosen.id, { owner: 'acme' }, 409)
  })

  test('an operational subscriber that fails is shown as failing, and is not disabled for it', async () => {
    await using admins = await startReceiver(500)
    await using broken = await startReceiver(500)
    const { id } = await subscribe(service, {
      url: admins.url,
      operational: true,
      eventTypes: ['delivery.dead'],
    })
    const { id: other } = await subscribe(service, { url: broken.url, eventTypes: ['a'] })
    const read = async () => {
      const path = `/subscribers/${id}`
      const { state, disablesAt } = await expectJson<{ state: string; disablesAt: string | null }>(
        service,
        200,
        path,
      )
      return { state, disablesAt }
    }
    await emit(service, { type: 'a', data: 1 })
    await settled(service, id, 'dead')
    assert.deepEqual(await read(), { state: 'failing', disablesAt: null })
    const data = await dataOf<{ kind: string; about: { id: string } }>(service, '/attention')
    assert.ok(data.some(({ kind, about }) => kind === 'subscriber-failing' && about.id === id))
    await emit(service, { type: 'a', data: 2 })
    await untilStatus(service, id, 'dead', 2)
    assert.equal((await read()).state, 'failing')

    admins.answer(204)
    await emit(service, { type: 'a', data: 3 })
    await settled(service, id, 'delivered')
    assert.equal((await read()).state, 'active')
    assert.equal((await deliveries(service, other)).length, 3)
  })

  test('without an operational subscriber no such event is made', async () => {
    await using receiver = await startReceiver(500)
    const before = (await eventsOf(service)).length
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await settled(service, id, 'dead')
    assert.equal((await eventsOf(service)).length, before + 1)
  })
})
