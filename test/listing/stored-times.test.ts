// Programs store times in SQLite in different forms, because it has no type for them. A client of a list sees one form.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { canonicalTime } from '../../src/paging/time.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, startTestService, type TestDatabase, type TestService } from '../harness/index.ts'
import { readList } from './seed.ts'

const day = (time: string, fraction = '') => `2026-01-31${time}${fraction}`
/** As SQLite would hold them; on PostgreSQL the columns are timestamps. All of UTC. */
const tables: Record<string, readonly string[]> = {
  own: [day(' 00:00:00'), day(' 08:30:00'), day(' 08:30:01'), '2026-02-01 00:00:00'],
  javascript: [
    day('T00:00:00.000Z'),
    day('T08:30:00.000Z'),
    day('T08:30:00.500Z'),
    '2026-02-01T00:00:00.000Z',
  ],
  python: [day(' 00:00:00'), day(' 08:30:00'), day(' 08:30:00', '.000137'), '2026-02-01 00:00:00'],
  zoned: [
    day('T00:00:00.000000+00:00'),
    day('T08:30:00.000000+00:00'),
    day('T08:30:00.999999+00:00'),
    '2026-02-01T00:00:00.000000+00:00',
  ],
  // Has no rows when the service starts: only what they will be by default is known then.
  later: [day(' 00:00:00'), day(' 08:30:00'), day(' 08:30:01'), '2026-02-01 00:00:00'],
}

const lists = Object.keys(tables).map((table) =>
  list({
    path: `/${table}`,
    strict: false,
    table,
    access: 'public',
    fields: { id: { type: 'integer' }, at: { type: 'timestamp' } },
    key: 'id',
    order: ['id'],
    sort: ['at'],
    filters: {
      at: { field: 'at', kind: 'equals' },
      since: { field: 'at', kind: 'atLeast' },
      after: { field: 'at', kind: 'above' },
      until: { field: 'at', kind: 'atMost' },
      before: { field: 'at', kind: 'below' },
    },
    pages: ['cursor'],
  }),
)

onEachEngine('stored times', (engine) => {
  let home: TestDatabase
  let service: TestService

  before(async () => {
    home = await engine.createMigratedDatabase()
    const database = await openDatabase(home.url)
    const column = engine.name === 'sqlite' ? 'text' : 'timestamptz'
    await database.transaction(async (tx) => {
      if (engine.name === 'postgres') await sql.raw(`set local time zone 'UTC'`).execute(tx)
      for (const [table, times] of Object.entries(tables)) {
        await sql
          .raw(
            `create table ${table} (id integer primary key, at ${column} not null default current_timestamp)`,
          )
          .execute(tx)
        await sql.raw(`create index ${table}_by_at on ${table} (at, id)`).execute(tx)
        if (table !== 'later') await sql.raw(insertOf(table, times)).execute(tx)
      }
    })
    service = await startTestService(engine, { databaseUrl: home.url, config: { listing: { lists } } })
    await database.transaction(async (tx) => {
      if (engine.name === 'postgres') await sql.raw(`set local time zone 'UTC'`).execute(tx)
      await sql.raw(insertOf('later', tables['later']!)).execute(tx)
    })
    await database.close()
  })
  after(async () => {
    await service.close()
    await home.drop()
  })

  for (const [table, times] of Object.entries(tables)) {
    const found = async (query: string): Promise<unknown[]> =>
      (await readList(service, `/${table}?${query}`)).data.map(({ id }) => id)

    test(`times as in the table called ${table}`, async () => {
      for (const asked of [
        '2026-01-31T08:30:00Z',
        '2026-01-31T09:30:00.000+01:00',
        '2026-01-31T08:30:00.000137Z',
        '2026-01-31T08:30:00.0002Z',
        '2026-01-31T08:30:00.999Z',
        '2026-01-31 08:30Z',
        '2026-01-31',
        '2026-02-01T00:00:00Z',
        '9999-12-31T23:59:59.5Z',
        '0001-01-01T00:00:00Z',
      ]) {
        const value = canonicalTime(asked)
        const passing = (passes: (time: string) => boolean): number[] =>
          times.flatMap((time, id) =>
            passes(canonicalTime(/Z|[+]/.test(time) ? time : `${time}Z`)) ? [id] : [],
          )
        const query = encodeURIComponent(asked)
        assert.deepEqual(
          await found(`at=${query}`),
          passing((time) => time === value),
          `at ${asked}`,
        )
        assert.deepEqual(
          await found(`since=${query}`),
          passing((time) => time >= value),
          `since ${asked}`,
        )
        assert.deepEqual(
          await found(`after=${query}`),
          passing((time) => time > value),
          `after ${asked}`,
        )
        assert.deepEqual(
          await found(`until=${query}`),
          passing((time) => time <= value),
          `until ${asked}`,
        )
        assert.deepEqual(
          await found(`before=${query}`),
          passing((time) => time < value),
          `before ${asked}`,
        )
      }
    })

    test(`a shown value of the table ${table} finds its row`, async () => {
      const { data } = await readList(service, `/${table}`)
      for (const { id, at } of data)
        assert.deepEqual(await found(`at=${encodeURIComponent(String(at))}`), [id], String(at))
      assert.deepEqual(await found('since=yesterday'), [0, 1, 2, 3], 'what is no time bounds nothing')
      assert.deepEqual(await found('at=yesterday'), [], 'what is no time equals nothing')
    })
  }
})

function insertOf(table: string, times: readonly string[]): string {
  return `insert into ${table} (id, at) values ${times.map((time, id) => `(${id}, '${time}')`).join(', ')}`
}
