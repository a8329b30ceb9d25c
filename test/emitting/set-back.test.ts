// The database is taken back to an earlier moment under running processes, as by a restored backup or by the promotion of an
// asynchronous standby. What was committed since is lost. Nobody may get anything else for it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onPostgres, postgres, type Receiver, startReceiver, type TestService } from '../harness/index.ts'
import { copyDatabase, type EarlierState } from '../harness/restored-database.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { deliveries, emit, startEmitting, subscribe, until } from './harness.ts'

interface Sent {
  id: string
  data: { tenant: string; n: number }
}

describe('a restore of the database under running processes', onPostgres, () => {
  let database: Awaited<ReturnType<NonNullable<typeof postgres>['createDatabase']>>
  let services: TestService[]
  let first: TestService
  let a: Receiver
  let b: Receiver
  let earlier: EarlierState
  let subscriberB: string
  /** Ids of emitted events that the database must have, by tenant. */
  const emitted: Record<string, Set<string>> = { a: new Set(), b: new Set() }
  const followed = new Map<number, string>()
  let cursor = 0

  before(async () => {
    database = await postgres!.createDatabase()
    const start = () =>
      startEmitting(postgres!, { databaseUrl: database.url, env: { EMIT_RETRY_SCHEDULE: '0,0.2,0.2,0.2' } })
    first = await start()
    services = [first, await start()]
    a = await startReceiver()
    b = await startReceiver()
  })
  after(async () => {
    for (const service of services) await service.close()
    await Promise.all([a.close(), b.close()])
    await earlier.drop()
    await database.drop()
  })

  async function emitSome(tenant: 'a' | 'b', from: number, count: number): Promise<void> {
    for (let n = from; n < from + count; n += 1) {
      const service = services[n % services.length]!
      const { eventId } = await emit(service, { type: `${tenant}.paid`, data: { tenant, n } })
      emitted[tenant]!.add(eventId)
    }
  }

  /** Goes on from the cursor to the end of the log. */
  async function follow(): Promise<void> {
    for (let more = true; more;) {
      const answer = await first.admin(`/events?cursor=${cursor}&limit=100`)
      assert.equal(answer.status, 200)
      const page = (await answer.json()) as AnswerTo<'GET /events'>
      for (const { id, eventId } of page.data) followed.set(id, eventId)
      cursor = page.data.at(-1)?.id ?? cursor
      more = page.nextCursor !== null
    }
  }

  const bodiesOf = ({ calls }: Receiver): Sent[] =>
    calls.map(({ body }) => JSON.parse(body.toString()) as Sent)
  const arrived = (receiver: Receiver): Set<string> => new Set(bodiesOf(receiver).map(({ id }) => id))

  test('no event is sent with the body of another, and a follower of the log misses none', async () => {
    await subscribe(first, { url: a.url, eventTypes: ['a.*'] })
    subscriberB = (await subscribe(first, { url: b.url, eventTypes: ['b.*'] })).id
    await emitSome('a', 0, 5)
    await emitSome('b', 0, 5)
    await until(() => Promise.resolve(a.calls.length >= 5 && b.calls.length >= 5), 'all arrive')
    await until(
      async () => (await deliveries(first, subscriberB)).every(({ status }) => status === 'delivered'),
      'all are recorded',
    )
    earlier = await copyDatabase(database.url)
    await until(async () => (await first.fetch('/readyz')).status === 200, 'it is ready')

    // These are lost. The last ones are under way while the database is taken back.
    const lost = emitted['a']!
    emitted['a'] = new Set()
    await emitSome('a', 5, 15)
    await until(() => Promise.resolve(a.calls.length >= 20), 'all arrive')
    const held: (() => void)[] = []
    a.answer((response) => void held.push(() => response.writeHead(204).end()))
    await emitSome('a', 20, 5)
    await until(() => Promise.resolve(held.length >= 5), 'all are under way')
    emitted['a'] = lost
    await follow()
    const before = followed.size

    await earlier.restore()
    await until(
      async () =>
        (await Promise.all(services.map((one) => one.fetch('/readyz')))).every(
          ({ status }) => status === 200,
        ),
      'they are ready',
    )
    // Each first attempt fails, so its event is read from the database again. Those of A end while B's are under way.
    const tried = new Set<unknown>()
    b.answer((response, { headers }) => {
      const id = headers['webhook-id']
      response.writeHead(tried.has(id) ? 204 : 500).end()
      tried.add(id)
      if (tried.size === 10) for (const answer of held.splice(0)) answer()
    })
    await emitSome('b', 5, 25)
    a.answer(204)
    await until(
      async () =>
        (await deliveries(first, subscriberB, '?limit=100')).every(({ status }) => status !== 'pending'),
      'no delivery is pending',
    )
    await follow()

    const foreign = bodiesOf(b).filter(({ id, data }) => data.tenant !== 'b' || !emitted['b']!.has(id))
    assert.deepEqual(foreign, [], 'B got what is not its own')
    assert.deepEqual(
      bodiesOf(a).filter(({ data }) => data.tenant !== 'a'),
      [],
      'A got what is not its own',
    )
    const recorded = await deliveries(first, subscriberB, '?limit=100')
    assert.equal(recorded.length, 30)
    assert.deepEqual(
      recorded.filter(({ status }) => status !== 'delivered'),
      [],
    )
    const ids = arrived(b)
    assert.deepEqual(
      recorded.filter(({ eventId }) => !ids.has(eventId)),
      [],
      'marked as delivered, and never sent',
    )
    const seen = new Set(followed.values())
    assert.deepEqual(
      [...emitted['b']!].filter((id) => !seen.has(id)),
      [],
      'a follower of the log missed events',
    )
    assert.equal(followed.size, before + 25, 'no number means two events')
  })
})
