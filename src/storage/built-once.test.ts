import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildOnce, insertOf } from './built-once.ts'
import { kyselyOver } from './query-runner.ts'

const [sqlite, postgres] = (['sqlite', 'postgres'] as const).map((engine) =>
  kyselyOver(engine, () => Promise.reject(new Error('only compiled'))),
)

test('a statement is built once for each engine, and gets the values of each call', () => {
  let times = 0
  const find = buildOnce((db, { id, now }: { id: string; now: number }) => {
    times += 1
    return db
      .selectFrom('users')
      .select('email')
      .where('id', '=', id)
      .where('created_at', '>', now)
      .where('role', '=', 'admin')
  })
  const text = 'select "email" from "users" where "id" = $1 and "created_at" > $2 and "role" = $3'
  assert.equal(find(postgres!, { id: 'a', now: 1 }).sql, text)
  assert.deepEqual(find(postgres!, { id: 'b', now: 2 }).parameters, ['b', 2, 'admin'])
  assert.equal(find(sqlite!, { id: 'c', now: 3 }).sql, text.replaceAll(/\$\d/g, '?'))
  assert.deepEqual(find(sqlite!, { now: 4, id: 'd' }).parameters, ['d', 4, 'admin'])
  assert.equal(times, 2)
})

test('an insert is that of its columns, in the order of the row', () => {
  const row = { issuer: 'c', hash: Buffer.from('j'), expires_at: 1 }
  for (const db of [sqlite!, postgres!, sqlite!]) {
    const { sql, parameters } = db.insertInto('used_assertions').values(row).compile()
    const insert = insertOf(db, 'used_assertions', row)
    assert.equal(insert.sql, sql)
    assert.deepEqual(insert.parameters, parameters)
  }
  const turned = { expires_at: 2, hash: Buffer.from('k'), issuer: 'd' }
  assert.deepEqual(insertOf(postgres!, 'used_assertions', turned).parameters, [2, Buffer.from('k'), 'd'])
})
