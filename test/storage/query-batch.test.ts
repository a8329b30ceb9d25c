import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PoolClient } from 'pg'
import { queryBatch } from '../../src/storage/postgres/driver/queries.ts'
import { Connector, type SessionPool } from '../../src/storage/postgres/pool/connector.ts'
import { onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'

const insert = { text: 'insert into things (id, name) values ($1, $2)', name: 'insert_thing' }

describe('one statement with several lists of values', onPostgres, () => {
  let database: TestDatabase
  let opened: SessionPool
  let client: PoolClient

  before(async () => {
    database = await postgres!.createDatabase()
    opened = new Connector(database.url).openPool({ max: 1, answerWithin: 60_000, onError: () => {} })
    client = await opened.connect()
    await client.query('create table things (id integer primary key, name text not null)')
  })

  after(async () => {
    client.release()
    await opened.close()
    await database.drop()
  })

  const names = async (): Promise<string> => {
    const { rows } = await client.query<{ names: string }>(
      `select coalesce(string_agg(name, ' ' order by id), '') as names from things`,
    )
    return rows[0]!.names
  }

  test('they run in order, and each returns its row count', async () => {
    for (const name of [undefined, insert.name, insert.name]) {
      await client.query('begin')
      const counts = queryBatch(client, { ...insert, name }, [
        [1, 'a'],
        [2, 'b'],
      ])
      // Sent behind it, before its answer.
      const update = queryBatch(client, { text: 'update things set name = name || $1', name: 'add' }, [
        ['!'],
        ['?'],
      ])
      assert.deepEqual(
        [await counts, await update],
        [
          [1, 1],
          [2, 2],
        ],
      )
      assert.equal(await names(), 'a!? b!?')
      await client.query('rollback')
    }
  })

  test('after the first failure, the others do not run', async () => {
    await client.query('begin; savepoint before')
    const rows = [
      [1, 'a'],
      [1, 'b'],
      [2, 'c'],
    ]
    await assert.rejects(queryBatch(client, insert, rows), { code: '23505' })
    await client.query('rollback to before')
    assert.deepEqual(await queryBatch(client, insert, [[3, 'd']]), [1], 'the connection is usable')
    assert.equal(await names(), 'd')
    await client.query('rollback')
  })

  test('a value without an encoding is reported, and the connection stays usable', async () => {
    const unwritable = {
      toPostgres() {
        throw new Error('not this one')
      },
    }
    await client.query('begin; savepoint before')
    await assert.rejects(
      queryBatch(client, insert, [
        [1, 'a'],
        [2, unwritable],
      ]),
      /not this one/,
    )
    await client.query('rollback to before')
    assert.equal(await names(), '')
    await client.query('rollback')
  })

  test('a statement that cannot be prepared is reported, and prepared again the next time', async () => {
    const missing = { text: 'insert into later (id) values ($1)', name: 'insert_later' }
    await assert.rejects(queryBatch(client, missing, [[1]]), { code: '42P01' })
    await client.query('create table later (id integer)')
    assert.deepEqual(await queryBatch(client, missing, [[1], [2]]), [1, 1])
  })
})
