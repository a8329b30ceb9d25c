// A reader that follows GET /events never misses an event, although numbers are given out before commit and commits
// come in any order.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { after, before, test } from 'node:test'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { insertEvent, onEachEngine, onPostgres, postgres } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

type Page = AnswerTo<'GET /events'>

class Follower {
  readonly seen: string[] = []
  #cursor = 0
  readonly #service: TestService

  constructor(service: TestService) {
    this.#service = service
  }

  async read(limit = 100): Promise<void> {
    const { data } = (await (
      await this.#service.fetch(`/events?cursor=${this.#cursor}&limit=${limit}`)
    ).json()) as Page
    this.seen.push(...data.map(({ eventId }) => eventId))
    this.#cursor = data.at(-1)?.id ?? this.#cursor
  }
}

onEachEngine('following the event log', (engine) => {
  let service: TestService

  before(async () => {
    service = await startTestService(engine)
  })
  after(() => service.close())

  test('with late commits and a permanent reader, no event is missed or repeated', async () => {
    const writers = 6
    const rounds = 15
    const written: string[] = []
    const follower = new Follower(service)
    let writing = true
    const reader = (async () => {
      while (writing) await follower.read(3 + (follower.seen.length % 5))
    })()

    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let round = 0; round < rounds; round += 1) {
          const id = `${writer}-${round}`
          written.push(id)
          if (writer % 2 === 0) {
            await postWebhook(service, { id, type: 'late' })
            continue
          }
          // As a handler's emit or POST /events does: insert, then take a while to commit.
          const transaction = service.database.begin()
          await insertEvent(transaction.tx, { event_id: id, type: 'late' })
          await wait((writer * 7 + round * 3) % 20)
          await transaction.commit()
        }
      }),
    )
    writing = false
    await reader
    await eventually(async () => {
      await follower.read()
      return follower.seen.length >= written.length
    }, 'the follower has all')
    assert.deepEqual(follower.seen.toSorted(), written.toSorted())
  })
})

test(
  'events after an uncommitted number are not shown before it commits (postgres)',
  onPostgres,
  async () => {
    await using service = await startTestService(postgres!)
    const database = service.database as PostgresDatabase
    const ids = async () =>
      ((await (await service.fetch('/events')).json()) as Page).data.map(({ eventId }) => eventId)
    await postWebhook(service, { id: 'before', type: 'a' })
    const late = database.begin()
    await insertEvent(late.tx, { event_id: 'late', type: 'late' })
    await postWebhook(service, { id: 'after', type: 'a' })
    assert.deepEqual(await ids(), ['before'], 'the one that is committed waits for the one that is not')
    await late.commit()
    assert.deepEqual(await ids(), ['before', 'late', 'after'])
  },
)

test(
  'the statement that stores webhooks publishes its floor before it takes numbers (postgres)',
  onPostgres,
  async () => {
    await using service = await startTestService(postgres!)
    const { pool } = service.database as PostgresDatabase
    await postWebhook(service, { id: 'first', type: 'a' })
    const { rows: before } = await pool.query<{ last: number }>(
      'select last_value as last from events_id_seq',
    )
    // A writer that has taken its numbers and is kept from finishing: it waits for a row that another transaction holds.
    const blocker = await pool.connect()
    await blocker.query('begin')
    await blocker.query(
      `insert into event_queue (event, source, event_id, type, status, due_at) values (-1, 'provider', 'held', 'a', 'pending', 0)`,
    )
    const waiting = postWebhook(service, { id: 'held', type: 'a' })
    await eventually(async () => {
      const { rows } = await pool.query<{ last: number }>('select last_value as last from events_id_seq')
      return rows[0]!.last > before[0]!.last
    }, 'a number was taken')
    const { rows } = await pool.query<{ horizon: number }>('select events_horizon() as horizon')
    assert.equal(rows[0]!.horizon, before[0]!.last, 'the horizon lies below the numbers that are under way')
    await blocker.query('rollback')
    blocker.release()
    assert.equal((await waiting).status, 200)
  },
)
