import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keyring } from '../crypto/keyring.ts'
import { Cursors } from '../paging/cursor.ts'
import { readLists } from './declaration.ts'
import { queriesOf, readQuery } from './query.ts'
import { products } from './resources/products-and-posts.ts'

const request = (url: string) => ({ url, caller: undefined })

test('requests with the same URL share their query, unless the URL is long: the cache is bounded in characters', () => {
  const queries = queriesOf(products, [])
  const urlOf = (length: number): string => '/products?category='.padEnd(length, 'x')
  for (const length of [30, 1_000])
    assert.equal(queries(request(urlOf(length))), queries(request(urlOf(length))))
  assert.notEqual(queries(request(urlOf(1_001))), queries(request(urlOf(1_001))))
  assert.deepEqual(queries(request(urlOf(1_001))).values, [urlOf(1_001).slice('/products?category='.length)])
})

test('a list whose rows depend on the caller reads each request', () => {
  const queries = queriesOf({ ...products, where: () => ({}) }, [])
  assert.notEqual(queries(request('/products')), queries(request('/products')))
})

test('a cursor of SQLite is rejected after a move to PostgreSQL, and the other way round: they store true as 1 and t', () => {
  const flags = {
    path: '/flags',
    table: 'flags',
    key: 'open',
    fields: { open: { type: 'boolean' } },
  } as const
  const [onPostgres] = readLists({ lists: [flags] })
  const onSqlite = { ...onPostgres!, fields: { open: { ...onPostgres!.fields['open']!, mixed: true } } }
  const cursors = new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more']))
  const [ofPostgres, ofSqlite] = [onPostgres!, onSqlite].map((list) => readQuery(list, {}).scopes.next)
  assert.deepEqual(cursors.decode(ofSqlite!, cursors.encode(ofSqlite!, [1])), [1])
  assert.throws(
    () => cursors.decode(ofPostgres!, cursors.encode(ofSqlite!, [1])),
    /was issued for another list/,
  )
  assert.throws(
    () => cursors.decode(ofSqlite!, cursors.encode(ofPostgres!, ['t'])),
    /was issued for another list/,
  )
})
