// Programs store times in SQLite in different forms, because it has no type for them. A client of a list sees one form.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { list } from '../../src/index.ts'
import { canonicalTime } from '../../src/paging/time.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

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

const comparisons: Record<string, (time: string, value: string) => boolean> = {
  at: (time, value) => time === value,
  since: (time, value) => time >= value,
  after: (time, value) => time > value,
  until: (time, value) => time <= value,
  before: (time, value) => time < value,
}

onEachEngine('stored times', (engine) => {
  const postgres = engine.name === 'postgres'
  const inUtc = postgres ? [`set local time zone 'UTC'`] : []
  const statements = [...inUtc]
  for (const [table, times] of Object.entries(tables)) {
    statements.push(
      `create table ${table} (id integer primary key, at ${postgres ? 'timestamptz' : 'text'} not null default current_timestamp)`,
      `create index ${table}_by_at on ${table} (at, id)`,
    )
    if (table !== 'later') statements.push(insertOf(table, times))
  }
  const opened = listService(engine, lists, statements)
  before(() => opened.run(...inUtc, insertOf('later', tables['later']!)))

  for (const [table, times] of Object.entries(tables)) {
    const found = async (query: string): Promise<unknown[]> =>
      (await readList(opened.service, `/${table}?${query}`)).data.map(({ id }) => id)

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
        for (const [parameter, passes] of Object.entries(comparisons))
          assert.deepEqual(
            await found(`${parameter}=${query}`),
            passing((time) => passes(time, value)),
            `${parameter} ${asked}`,
          )
      }
    })

    test(`a shown value of the table ${table} finds its row`, async () => {
      const { data } = await readList(opened.service, `/${table}`)
      for (const { id, at } of data)
        assert.deepEqual(await found(`at=${encodeURIComponent(String(at))}`), [id], String(at))
      for (const no of ['yesterday', '-infinity'])
        assert.deepEqual(await found(`since=${no}`), [0, 1, 2, 3], 'what is no time bounds nothing')
      assert.deepEqual(await found('at=yesterday'), [], 'what is no time equals nothing')
    })
  }
})

function insertOf(table: string, times: readonly string[]): string {
  return `insert into ${table} (id, at) values ${times.map((time, id) => `(${id}, '${time}')`).join(', ')}`
}
