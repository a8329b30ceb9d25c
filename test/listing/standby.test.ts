// Lists on a real standby: how old an answer may be, what it says of that, and what is never read there.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { list } from '../../src/index.ts'
import { type Link, onPostgres, openLink, postgres } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { startOwnPostgres, type OwnPostgres } from '../harness/postgres.ts'
import { startStandby, type Standby } from '../harness/standby.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually } from '../receiving/harness.ts'

/** Seconds. */
const maxAge = 4

interface Answer {
  names: string[]
  /** Seconds; 0 from the primary. */
  age: number
  sentAt: number
  next: string | null
}

describe('lists on a standby', onPostgres, () => {
  let primary: OwnPostgres
  let standby: Standby
  let service: TestService
  /** The way to the standby, and the standby's to its primary. */
  let way: Link
  let stream: Link
  before(async () => {
    primary = await startOwnPostgres()
    stream = await openLink(primary.url)
    standby = await startStandby(primary.url, stream.url)
    way = await openLink(standby.url)
    // On a standby a page takes a minute, on a primary none of that.
    await primaryDoes(`
      create table slow_things (id int primary key); insert into slow_things values (1);
      create view slow as select id from slow_things
        where not pg_is_in_recovery() or pg_sleep(case when id > 0 then 60 end) is not null;
      create view named with (security_invoker = true) as select 1 as id, current_setting('app.name', true) as name`)
    service = await startTestService(postgres!, {
      databaseUrl: primary.url,
      config: {
        listing: {
          lists: [
            list({
              path: '/slow',
              table: 'slow',
              access: 'public',
              key: 'id',
              fields: { id: { type: 'integer' } },
            }),
            list({
              path: '/named',
              table: 'named',
              access: 'public',
              key: 'id',
              fields: { id: { type: 'integer' }, name: { type: 'text' } },
              settings: () => ({ 'app.name': 'Ada' }),
            }),
          ],
        },
      },
      env: { DATABASE_REPLICA_URL: way.url, DATABASE_REPLICA_MAX_AGE: String(maxAge) },
    })
  })
  after(async () => {
    await service?.close()
    way?.close()
    await standby?.stop()
    stream?.close()
    await primary?.stop()
  })

  async function primaryDoes(statements: string): Promise<void> {
    const client = new pg.Client({ connectionString: primary.url })
    await client.connect()
    await client.query(statements)
    await client.end()
  }
  async function read(query = '', headers: Record<string, string> = {}): Promise<Answer> {
    const sentAt = performance.now()
    const response = await service.fetch(`/products?${query || 'limit=100'}`, { headers })
    assert.equal(response.status, 200)
    const age = response.headers.get('postern-data-age')
    assert.match(age ?? '', /^\d+\.\d\d$/)
    const { data, pageInfo } = (await response.json()) as AnswerTo<'GET /products'>
    return { names: data.map(({ name }) => name), age: Number(age), sentAt, next: pageInfo.nextCursor }
  }
  async function create(name: string): Promise<void> {
    const json = { name, category: 'standby', price: 1, stock: 1 }
    assert.equal((await service.admin('/products', { method: 'POST', json })).status, 201)
  }
  const used = (): Promise<unknown> => eventually(async () => (await read()).age > 0, 'read on the standby')

  /** Asks until the primary answers. No answer may be older than it says, and none older than the bound. */
  async function untilPrimary(name: string): Promise<number> {
    await create(name)
    const committedAt = performance.now()
    let behind = 0
    for (;;) {
      const { names, age, sentAt } = await read()
      assert.ok(age <= maxAge)
      if (age === 0) {
        assert.ok(names.includes(name))
        return behind
      }
      if (names.includes(name)) continue
      behind += 1
      assert.ok(
        age * 1_000 >= sentAt - committedAt,
        `${age} s old, and asked ${sentAt - committedAt} ms later`,
      )
    }
  }

  test('the standby answers with committed rows and their age', async () => {
    await create('first')
    await used()
    await eventually(async () => {
      const { names, age } = await read()
      return age > 0 && names.includes('first')
    }, 'replayed')
  })

  test('settings for a caller also apply on the standby, and no connection keeps them', async () => {
    // A busy standby may be too far behind for some of them.
    for (let onStandby = 0; onStandby < 20;) {
      const response = await service.fetch('/named')
      if (response.headers.get('postern-data-age') === '0.00') await used()
      else onStandby += 1
      assert.equal(((await response.json()) as { data: { name: string }[] }).data[0]!.name, 'Ada')
    }
    // The last transaction may end after its answer.
    await eventually(async () => {
      const running = await standby.query(
        "select query from pg_stat_activity where query like '%set_config%' and state <> 'idle' and pid <> pg_backend_pid()",
      )
      return running.length === 0
    }, 'no connection keeps them')
  })

  test('a standby whose replay stops is used for a bounded time, then the primary', async () => {
    await used()
    await standby.query('select pg_wal_replay_pause()')
    try {
      await eventually(async () => {
        const [row] = await standby.query<{ state: string }>(
          'select pg_get_wal_replay_pause_state() as state',
        )
        return row!.state === 'paused'
      }, 'paused')
      await untilPrimary('while-paused')
      for (const control of ['no-cache', 'max-age=0']) {
        const { names, age } = await read('', { 'cache-control': control })
        assert.equal(age, 0)
        assert.ok(names.includes('while-paused'))
      }
    } finally {
      await standby.query('select pg_wal_replay_resume()')
    }
    await used()
  })

  test('the event log is always read on the primary', async () => {
    await used()
    await standby.query('select pg_wal_replay_pause()')
    try {
      for (let count = 0; count < 5; count += 1) {
        const emitted = await service.admin('/events', { method: 'POST', json: { type: 'a.b', data: count } })
        const { id } = (await emitted.json()) as { id: number }
        const response = await service.admin(`/events?cursor=${id - 1}`)
        assert.equal(response.headers.get('postern-data-age'), null)
        assert.equal(((await response.json()) as { data: { id: number }[] }).data[0]!.id, id)
      }
    } finally {
      await standby.query('select pg_wal_replay_resume()')
    }
  })

  test('a standby that lost its primary does not count as up to date', async () => {
    await used()
    stream.cut()
    await untilPrimary('while-apart')
    stream.mend()
    await used()
  })

  test('a statement that conflicts with the replay is cancelled, and repeated on the primary', async () => {
    await standby.caughtUp()
    await used()
    let answer!: Promise<Response>
    let isOver = true
    await eventually(async () => {
      // The primary answers at once, if a busy standby was too far behind.
      if (isOver) {
        isOver = false
        answer = service.fetch('/slow').finally(() => (isOver = true))
      }
      const running = await standby.query(
        "select from pg_stat_activity where wait_event = 'PgSleep' and query like '%slow%' and pid <> pg_backend_pid()",
      )
      return running.length > 0
    }, 'read on the standby')
    await primaryDoes('begin; lock table slow_things in access exclusive mode; commit')
    const { status, headers } = await answer
    assert.equal(status, 200)
    assert.equal(headers.get('postern-data-age'), '0.00')
  })

  test('an unreachable or silent standby: the primary is used', async () => {
    for (const fail of [() => way.cut(), () => way.hold()]) {
      await used()
      fail()
      const answers = await Promise.all(Array.from({ length: 10 }, () => read()))
      assert.equal(answers.length, 10)
      await untilPrimary('while-away')
      way.mend()
      await used()
    }
  })

  test('a walk that alternates between primary and standby skips nothing', async () => {
    for (let count = 0; count < 20; count += 1) await create(`walked-${String(count).padStart(2, '0')}`)
    await standby.caughtUp()
    await used()
    const seen: string[] = []
    let cursor: string | null = null
    for (let page = 0; page === 0 || cursor !== null; page += 1) {
      const query: string = `limit=3&category=standby${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
      const { names, next }: Answer = await read(query, page % 2 === 0 ? {} : { 'cache-control': 'no-cache' })
      seen.push(...names)
      cursor = next
      if (page < 3) await create(`late-${page}`)
    }
    const walked = seen.filter((name) => name.startsWith('walked-'))
    assert.equal(walked.length, 20)
    assert.equal(new Set(walked).size, 20)
  })

  test('a standby that was promoted beside its primary is not used, although its log is ahead', async () => {
    await used()
    await standby.query('select pg_promote()')
    await standby.query(`select pg_logical_emit_message(true, 'test', repeat('x', 10000000))`)
    await untilPrimary('while-promoted')
    await create('after-promotion')
    const { names, age } = await read()
    assert.equal(age, 0)
    assert.ok(names.includes('after-promotion'))
  })
})
