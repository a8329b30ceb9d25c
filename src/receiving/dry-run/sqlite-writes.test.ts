import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { readChangeset } from './sqlite-writes.ts'

function changesOf(statements: string): ReturnType<typeof readChangeset> {
  const database = new DatabaseSync(':memory:')
  database.exec(`
    create table a (id integer primary key, x text, y blob, z real);
    create table c (k text, n integer, v, primary key (k, n)) without rowid;
    insert into a values (1, 'one', null, 1.5), (3, 'three', x'00ff', -0.25);
    insert into c values ('old', 9007199254740993, null)`)
  const session = database.createSession()
  database.exec(statements)
  return readChangeset(session.changeset())
}

test('reads inserted, updated and deleted rows with values of all types', () => {
  const rows = [
    ...changesOf(`
      update a set x = 'unö' where id = 1;
      delete from a where id = 3;
      insert into a values (2, null, x'aa', 1e300);
      insert into c values ('z', -5, 1.25)`),
  ].map(({ table, operation, before, after }) => ({ table, operation, before, after }))
  const of = (operation: string, table = 'a') =>
    rows.find((row) => row.operation === operation && row.table === table)!
  assert.deepEqual(of('update').before, [1, 'one', undefined, undefined])
  assert.deepEqual(of('update').after, [undefined, 'unö', undefined, undefined])
  assert.deepEqual(of('delete').before, [3, 'three', Buffer.from('00ff', 'hex'), -0.25])
  assert.equal(of('delete').after, undefined)
  assert.deepEqual(of('insert').after, [2, null, Buffer.from('aa', 'hex'), 1e300])
  assert.deepEqual(of('insert', 'c').after, ['z', -5, 1.25])
  assert.equal(rows.length, 4)
})

test('knows the key, and integers beyond 2^53', () => {
  const [row] = [...changesOf(`update c set v = 'x' where k = 'old'`)]
  assert.deepEqual(row!.isKey, [true, true, false])
  assert.deepEqual(row!.before, ['old', 9_007_199_254_740_993n, null])
})

test('reads long texts, and no rows', () => {
  const long = 'ä'.repeat(50_000)
  const [row] = [...changesOf(`insert into a values (9, '${long}', null, null)`)]
  assert.equal(row!.after![1], long)
  assert.deepEqual([...changesOf(`update a set x = x`)], [])
})

test('refuses what is no changeset', () => {
  assert.throws(() => [...readChangeset(Buffer.from([1, 2, 3]))], /begins no row/)
  assert.throws(() => [...readChangeset(Buffer.from([0x54, 1, 1, 0x61, 0, 18, 0, 3, 99]))], /ends early/)
})
