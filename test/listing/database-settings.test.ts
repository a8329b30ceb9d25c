// How PostgreSQL writes values is a setting of the database, of the role and of the server: no list may depend on it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { each, engines, startTestService } from '../harness/index.ts'
import { readList, walk } from './seed.ts'

const settings = [
  `datestyle = 'SQL, DMY'`,
  `timezone = 'Asia/Kolkata'`,
  `intervalstyle = 'sql_standard'`,
  'extra_float_digits = -10',
]

const readings = list({
  path: '/readings',
  table: 'readings',
  access: 'public',
  fields: {
    id: { type: 'integer' },
    real: { type: 'real' },
    double: { type: 'number' },
    at: { type: 'timestamp' },
    day: { type: 'date' },
  },
  key: 'id',
  sort: ['real', 'double', 'at', 'day'],
})

const eras = list({
  path: '/eras',
  table: 'eras',
  access: 'public',
  fields: { id: { type: 'integer' }, at: { type: 'timestamp' }, bare: { type: 'timestamp' } },
  key: 'id',
  sort: ['at'],
})

for (const engine of engines.filter(({ name }) => name === 'postgres'))
  test('settings of the database for dates, time zones and floats do not change lists', async (t) => {
    const own = await engine.createDatabase()
    const { url } = own
    const database = await openDatabase(url)
    const name = new URL(url).pathname.slice(1)
    await database.transaction(async (tx) => {
      for (const setting of settings) await sql.raw(`alter database "${name}" set ${setting}`).execute(tx)
      await sql`create table readings (id int primary key, real real not null, double double precision not null,
        at timestamptz not null, day date not null)`.execute(tx)
      await sql`insert into readings select i, (i / 7.0)::real, i / 7.0::float8,
        '2026-01-31 08:30:00+00'::timestamptz + i * interval '137 microseconds', '2026-02-01'::date + i
        from generate_series(1, 60) i`.execute(tx)
      await sql`insert into readings values (0, 0, 0, '0001-01-01 00:00:00+00', '0001-01-01')`.execute(tx)
      await sql`create table eras (id int primary key, at timestamptz not null, bare timestamp not null)`.execute(
        tx,
      )
      await sql`insert into eras select i, at, at::timestamptz at time zone 'UTC' from unnest(array['12026-01-01 00:00:00.000001+00',
        '0001-01-01 00:00:00+00 BC', '0044-03-15 12:00:00.5+00 BC', '9999-12-31 23:00:00+00', '0001-12-31 22:00:00+00 BC',
        '10000-01-01 03:00:00+00', '294276-12-31 23:59:59+00', '4714-11-24 00:00:00+00 BC', 'infinity', '1800-06-01 00:00:00+00']::timestamptz[])
        with ordinality as eras (at, i)`.execute(tx)
    })
    await database.close()
    const service = await startTestService(engine, {
      databaseUrl: url,
      config: { listing: { lists: [readings, eras] } },
    })
    t.after(async () => {
      await service.stop(5_000)
      await own.drop()
    })

    const ids = Array.from({ length: 61 }, (_, index) => index)
    for (const sort of ['real', 'double', 'at', 'day']) {
      const pages = await walk(service, `/readings?sort=${sort}&limit=7`)
      assert.deepEqual(each(pages.flat(), 'id'), ids, sort)
    }
    const { data } = await readList(service, '/readings?limit=3')
    assert.deepEqual(data, [
      { id: 0, real: 0, double: 0, at: '0001-01-01T00:00:00.000Z', day: '0001-01-01' },
      {
        id: 1,
        real: 0.14285715,
        double: 0.14285714285714285,
        at: '2026-01-31T08:30:00.000137Z',
        day: '2026-02-02',
      },
      {
        id: 2,
        real: 0.2857143,
        double: 0.2857142857142857,
        at: '2026-01-31T08:30:00.000274Z',
        day: '2026-02-03',
      },
    ])
    const shown = (await readList(service, '/eras?limit=20')).data
    assert.deepEqual(each(shown, 'at'), [
      '12026-01-01T00:00:00.000001+00',
      '0001-01-01T00:00:00+00 BC',
      '0044-03-15T12:00:00.5+00 BC',
      '9999-12-31T23:00:00.000Z',
      '0001-12-31T22:00:00+00 BC',
      '10000-01-01T03:00:00+00',
      // Beyond what a Date holds, as PostgreSQL writes it.
      '294277-01-01T05:29:59+05:30',
      '4714-11-24T00:00:00+00 BC',
      'infinity',
      '1800-06-01T00:00:00.000Z',
    ])
    assert.equal(shown[0]!['bare'], '12026-01-01T00:00:00.000001')
    assert.deepEqual(
      each((await walk(service, '/eras?sort=at&limit=1')).flat(), 'id'),
      [8, 3, 2, 5, 10, 4, 6, 1, 7, 9],
    )
  })
