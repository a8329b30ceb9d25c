import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigurationError } from '../config/environment.ts'
import { list, type ListOptions } from './config.ts'
import { readLists } from './declaration.ts'

const orders: ListOptions = {
  path: '/orders',
  table: 'orders',
  fields: { id: { type: 'integer' }, note: { type: 'text', hidden: true }, extra: { type: 'json' } },
  key: 'id',
}

function faultsOf(...changes: (Partial<ListOptions> | object)[]): string {
  try {
    readLists({ lists: changes.map((change) => list({ ...orders, ...change })) })
    return ''
  } catch (error) {
    assert.ok(error instanceof ConfigurationError)
    return error.faults.join('\n')
  }
}

test('defaults: admins only, pages of 20 by cursor, in the order of the key', () => {
  const [read] = readLists({ lists: [orders] })
  assert.deepEqual(
    [
      read!.access,
      read!.limit,
      read!.pages,
      read!.order,
      read!.sort,
      read!.count,
      read!.exports,
      read!.openInDemo,
    ],
    ['admin', { default: 20, max: 100 }, ['cursor'], ['id'], [], 'exact', false, false],
  )
  assert.deepEqual(readLists(undefined), [])
})

test('what the types cannot say is said with the path of the list', () => {
  for (const [change, expected] of [
    [{ path: 'orders' }, /number|has no path/],
    [{ path: '/orders/:id' }, /has no path of letters/],
    [{ table: '' }, /names no table/],
    [{ fields: undefined }, /has no fields/],
    [{ fields: { ...orders.fields, 'a b': { type: 'text' } } }, /whose name cannot be used: "a b"/],
    [{ fields: { ...orders.fields, x: { type: 'varchar' } } }, /of a type that is none: varchar/],
    [{ fields: { ...orders.fields, x: { type: 'enum' } } }, /enum without values/],
    [{ key: 'number' }, /has no field number, which its key names/],
    [{ key: 'note' }, /sorts by note, which is hidden/],
    [{ sort: ['extra'] }, /sorts by extra, which is json/],
    [{ order: ['-toString'] }, /has no field toString/],
    [{ filters: { limit: { kind: 'equals', field: 'id' } } }, /limit, whose name is taken/],
    [{ filters: { id: 'like' } }, /of a kind that is none: like/],
    [{ filters: { price: 'equals' } }, /for a field that is not there: price/],
    [{ filters: { id: 'prefix' } }, /wants a text, and id is integer/],
    [{ filters: { id: 'flag' } }, /a flag of a field that is no boolean/],
    [{ filters: { extra: 'equals' } }, /of a json field/],
    [{ expand: { id: { table: 'x', from: 'id', fields: {} } } }, /expands id, whose name/],
    [{ expand: { x: { table: 'x', from: 'y', fields: {} } } }, /from a field that is not there: y/],
    [
      { expand: { x: { table: 'x', from: 'id', fields: {}, many: { order: [] } } } },
      /to many without an order/,
    ],
    [
      { expand: { x: { table: 'x', from: 'id', fields: {}, many: { order: ['-y'] } } } },
      /orders x by a field/,
    ],
    [
      {
        expand: {
          x: { table: 'x', from: 'id', fields: { n: { type: 'text' } }, many: { order: ['n'], limit: 101 } },
        },
      },
      /a limit that is not 1 to 100/,
    ],
    [{ pages: [] }, /has pages that are not/],
    [{ pages: ['cursor', 'keyset'] }, /one parameter cannot tell apart/],
    [{ pages: ['keyset'], sort: ['id'] }, /it can have no other order/],
    [{ access: 'everybody' }, /has an access that is none/],
    [{ count: 'about' }, /has a count that is none/],
    [{ limit: { default: 0 } }, /has a limit/],
    [{ limit: { max: 5000 } }, /has a limit/],
    [{ where: { owner: 'x' } }, /no function/],
  ] as [object, RegExp][])
    assert.match(faultsOf(change), expected)
})

test('of all lists everything is said at once; two cannot share a path', () => {
  const faults = faultsOf({ path: '/a', table: '' }, { path: '/b', key: 'x' })
  assert.match(faults, /\/a names no table[^]*\/b has no field x/)
  assert.match(faultsOf({}, {}), /two have the path \/orders/)
})
