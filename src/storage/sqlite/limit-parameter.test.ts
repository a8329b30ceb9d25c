import assert from 'node:assert/strict'
import { constants, DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { test } from 'node:test'
import { SqliteConnection, hideLimitParameter } from './connection.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

test('the parameter of a LIMIT becomes part of an expression', () => {
  const changed: [string, string][] = [
    ['select 1 limit ?', 'select 1 limit 0 + ?'],
    ['select 1 LIMIT\n ?2 offset ?1', 'select 1 LIMIT\n 0 + ?2 offset ?1'],
    ['select 1 limit :most', 'select 1 limit 0 + :most'],
    ['select (select 1 limit @a) limit $b', 'select (select 1 limit 0 + @a) limit 0 + $b'],
    ["select 'it''s limit ?' limit ?", "select 'it''s limit ?' limit 0 + ?"],
  ]
  for (const [sql, expected] of changed) assert.equal(hideLimitParameter(sql), expected)
})

test('texts, names, comments and other limits stay', () => {
  const same = [
    'select 1 limit 5',
    'select 1 limit (select ?)',
    "select 'limit ?', 'a '' limit ?'",
    'select 1 as "limit ?", 2 as `limit ?`, 3 as [limit ?]',
    'select 1 -- limit ?',
    'select /* a\n limit ? */ 1',
    'select no_limit ?',
  ]
  for (const sql of same) assert.equal(hideLimitParameter(sql), sql)
})

test('the value is the same', () => {
  const database = new DatabaseSync(':memory:')
  const count = (limit: string, ...values: (number | bigint | string)[]): number => {
    const sql = `select value from json_each('[1,2,3,4,5,6,7,8,9]') limit ${limit}`
    const [plain, hidden] = [sql, hideLimitParameter(sql)].map((one) => database.prepare(one).all(...values))
    assert.deepEqual(hidden, plain, limit)
    return hidden!.length
  }
  assert.equal(count('?', 3), 3)
  assert.equal(count('?', 3n), 3)
  assert.equal(count('?', '3'), 3)
  assert.equal(count('?', -1), 9)
  assert.equal(count('? * 2', 3), 6)
  assert.equal(count('? - 1 offset ?', 4, 7), 2)
  assert.equal(count('?, ?', 7, 5), 2)
  assert.throws(() => count('?', 2.5), /mismatch/)
  database.close()
})

test('a connection prepares a statement once, whatever its limit', (context) => {
  let prepared = 0
  const prepare = context.mock.method(DatabaseSync.prototype, 'prepare')
  const folder = temporaryFolder()
  const connection = new SqliteConnection(join(folder, 'a.db'))
  const read = (limit: number): unknown[] =>
    connection.all("select value from json_each('[1,2,3]') limit ?", [limit])
  read(1)
  const database = prepare.mock.calls.at(-1)!.this as DatabaseSync
  // SQLite asks the authorizer only while it prepares. Setting one makes it prepare all statements once more.
  database.setAuthorizer(() => {
    prepared += 1
    return constants.SQLITE_OK
  })
  read(1)
  assert.ok(prepared > 0)
  prepared = 0
  assert.equal(read(2).length, 2)
  assert.equal(read(2).length, 2)
  assert.equal(prepared, 0)
  connection.close()
})
