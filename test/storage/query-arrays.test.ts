// Binary arrays are only read by PostgreSQL.
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PoolClient } from 'pg'
import { encodeArrays, type Column, queryArrays } from '../../src/storage/postgres/driver/queries.ts'
import { Connector, type SessionPool } from '../../src/storage/postgres/pool/connector.ts'
import { onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'

interface Row {
  text: string | null
  small: number | null
  number: number | null
  bytes: Uint8Array | null
}

const insert = {
  name: 'insert_bound',
  text: `insert into bound (place, text, small, number, bytes)
    select place, text, small, number, bytes from unnest($1::text[], $2::integer[], $3::bigint[], $4::bytea[])
      with ordinality as t (text, small, number, bytes, place)`,
}
const columns: readonly Column<Row>[] = [
  { kind: 'texts', read: ({ text }) => text },
  { kind: 'integers', read: ({ small }) => small },
  { kind: 'bigints', read: ({ number }) => number },
  { kind: 'bytes', read: ({ bytes }) => bytes },
]
const timeout = 10_000

describe('batches as binary arrays', onPostgres, () => {
  let database: TestDatabase
  let opened: SessionPool
  let client: PoolClient

  before(async () => {
    database = await postgres!.createDatabase()
    opened = new Connector(database.url).openPool({ max: 1, answerWithin: 60_000, onError: () => {} })
    client = await opened.connect()
    await client.query(
      'create table bound (place bigint primary key, text text, small integer, number bigint, bytes bytea)',
    )
  })
  after(async () => {
    client.release()
    await opened.close()
    await database.drop()
  })

  const keep = (rows: readonly Row[]): Promise<number> =>
    queryArrays(client, insert, { rows, columns }, timeout)

  async function through(rows: readonly Row[]): Promise<Row[]> {
    await client.query('truncate bound')
    assert.equal(await keep(rows), rows.length)
    return stored()
  }

  async function stored(): Promise<Row[]> {
    const result = await client.query<Row>('select text, small, number, bytes from bound order by place')
    return result.rows.map(({ text, small, number, bytes }) => ({
      text,
      small,
      number,
      bytes: bytes && new Uint8Array(bytes),
    }))
  }

  test('texts, numbers and bytes arrive as they are', async (context) => {
    const text = fc
      .oneof(fc.constantFrom('', 'NULL', '{}', '"', '\\', '\n', '€', '😀'), fc.string({ unit: 'grapheme' }))
      .filter((one) => !one.includes('\u0000') && one.isWellFormed())
    const row = fc.record(
      {
        text: fc.option(text),
        small: fc.option(fc.integer()),
        number: fc.option(fc.maxSafeInteger()),
        bytes: fc.option(fc.uint8Array()),
      },
      { noNullPrototype: true },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(row), async (rows) => {
        assert.deepEqual(await through(rows), rows)
      }),
      propertyRun(context),
    )
  })

  test('equal neighbours, and the largest safe integers', async () => {
    const bytes = new Uint8Array([0, 255])
    const rows = [
      { text: 'a', number: Number.MAX_SAFE_INTEGER },
      { text: 'a', number: Number.MIN_SAFE_INTEGER },
      { text: null, number: -1 },
      { text: null, number: 0 },
      { text: '', number: 2 ** 32 },
      { text: '', number: -(2 ** 32) },
      { text: 'é'.repeat(9), number: 2 ** 31 },
      { text: 'é'.repeat(9), number: -(2 ** 31) },
    ].map(({ text, number }) => ({ text, small: number % 9, number, bytes }))
    assert.deepEqual(await through(rows), rows)
  })

  test('a large batch after a small one, and a small one after it', async () => {
    for (const size of [10, 3_000_000, 70_000, 0]) {
      const rows = [
        { text: 'ü'.repeat(size), small: size, number: size, bytes: new Uint8Array(size).fill(7) },
      ]
      assert.deepEqual(await through(rows), rows)
    }
  })

  test('arrays as parameters of a statement of pg', async () => {
    const rows = [
      { text: 'a', small: -1, number: 2 ** 40, bytes: new Uint8Array([0, 255]) },
      { text: null, small: null, number: null, bytes: null },
      { text: 'ü'.repeat(20_000), small: 7, number: -(2 ** 40), bytes: new Uint8Array(0) },
    ]
    for (const some of [rows, []]) {
      await client.query('truncate bound')
      const { rowCount } = await client.query(insert.text, encodeArrays(some, columns))
      assert.equal(rowCount, some.length)
      assert.deepEqual(await stored(), some)
    }
  })

  test('concurrent batches do not share a buffer', async () => {
    await client.query('truncate bound')
    const batches = Array.from({ length: 6 }, (_, batch) =>
      Array.from({ length: 50 }, (_, index) => ({
        text: `${batch}`,
        small: index,
        number: index,
        bytes: new Uint8Array(1_000).fill(batch),
      })),
    )
    await client.query('alter table bound drop constraint bound_pkey')
    await Promise.all(batches.map(keep))
    const { rows } = await client.query<{ text: string; count: number; bytes: Buffer }>(
      'select text, count(*) as count, bytes from bound group by text, bytes order by text',
    )
    assert.deepEqual(
      rows.map(({ text, count, bytes }) => [text, count, bytes.every((byte) => byte === Number(text))]),
      batches.map((_, batch) => [`${batch}`, 50, true]),
    )
    await client.query('truncate bound')
    await client.query('alter table bound add primary key (place)')
  })

  test('an error is reported, and the next batch works', async () => {
    const row = { text: 'a', small: 1, number: 1, bytes: new Uint8Array(1) }
    await through([row])
    await assert.rejects(keep([row]), { code: '23505' })
    // The server takes no such text; the message was whole all the same.
    await assert.rejects(keep([{ ...row, text: '\u0000' }]), { code: '22021' })
    assert.deepEqual(await through([row, row]), [row, row])
  })
})
