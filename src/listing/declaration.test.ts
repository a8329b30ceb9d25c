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

const expansion = { table: 'x', from: 'id', fields: { a: { type: 'text' } } }

function faultsOf(...changes: (Partial<ListOptions> | object)[]): string {
  try {
    readLists({ lists: changes.map((change) => list({ ...orders, ...change })) })
    return ''
  } catch (error) {
    assert.ok(error instanceof ConfigurationError)
    return error.faults.join('\n')
  }
}

test('defaults: access for admins, cursor pages of 20 items, in the order of the key', () => {
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

test('faults that types do not prevent are reported with the path of the list', () => {
  for (const [change, expected] of [
    [{ path: 'orders' }, /number 1: `path` must|orders: `path` must/],
    [{ path: '/orders/:id' }, /`path` must consist of/],
    [{ table: '' }, /`table` is missing/],
    [{ fields: undefined }, /`fields` is missing/],
    [{ fields: { ...orders.fields, 'a b': { type: 'text' } } }, /field name "a b" is invalid/],
    [{ fields: { ...orders.fields, x: { type: 'varchar' } } }, /the field x has an unknown type: varchar/],
    [{ fields: { ...orders.fields, x: { type: 'enum' } } }, /x is an enum and needs `values`/],
    [{ key: 'number' }, /`key` names number, which is not a field/],
    [{ key: 'note' }, /`key` names note, which is hidden/],
    [{ key: ['id', 'note'] }, /`key` names note, which is hidden/],
    [{ key: [], pages: ['keyset'] }, /`key` must be the name of a field, or an array of 1 to 8 different/],
    [{ key: ['id', 'id'] }, /`key` must be the name of a field/],
    [{ key: ['id', 1] }, /`key` must be the name of a field/],
    [{ key: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'] }, /`key` must be the name of a field/],
    [{ sort: 'id' }, /\/orders: `sort` must be an array/],
    [{ order: '-id' }, /\/orders: `order` must be an array/],
    [{ pages: 'offset' }, /\/orders: `pages` must be an array/],
    [{ sort: ['extra'] }, /`sort` names extra, which is json/],
    [{ order: ['-toString'] }, /`order` names toString, which is not a field/],
    [{ filters: { limit: { kind: 'equals', field: 'id' } } }, /filter limit has the name of a parameter/],
    [{ filters: { id: 'like' } }, /filter id has an unknown kind: like/],
    [{ filters: { price: 'equals' } }, /names price, which is not a field/],
    [{ filters: { id: 'prefix' } }, /needs a text field, and id is integer/],
    [{ filters: { id: 'flag' } }, /needs a boolean field, and id is integer/],
    [{ filters: { extra: 'equals' } }, /has a json field/],
    [{ expand: { id: { table: 'x', from: 'id', fields: {} } } }, /expansion id has the name of a field/],
    [
      { expand: { x: { table: 'x', from: 'y', fields: {} } } },
      /expansion x starts from y, which is not a field/,
    ],
    [
      { expand: { x: { table: 'x', from: 'id', fields: {}, many: { order: [] } } } },
      /expansion x needs `many.order`/,
    ],
    [
      { expand: { x: { table: 'x', from: 'id', fields: {}, many: { order: ['-y'] } } } },
      /expansion x orders by y/,
    ],
    [
      {
        expand: {
          x: { table: 'x', from: 'id', fields: { n: { type: 'text' } }, many: { order: ['n'], limit: 101 } },
        },
      },
      /`many.limit` must be 1 to 100/,
    ],
    [{ pages: [] }, /`pages` must be one or more of/],
    [{ pages: ['cursor', 'keyset'] }, /they share the parameter `cursor`/],
    [{ pages: ['keyset'], sort: ['id'] }, /the order of the key alone/],
    [{ access: 'everybody' }, /`access` must be public, user, admin/],
    [{ count: 'about' }, /`count` must be exact/],
    [{ limit: { default: 0 } }, /`limit` must hold/],
    [{ limit: { max: 5000 } }, /`limit` must hold/],
    [{ where: { owner: 'x' } }, /`where` must be a function/],
    [{ wher: () => ({ id: 1 }) }, /\/orders: there is no option `wher`/],
    [{ filter: { id: 'in' }, toString: 1 }, /no option `filter`\n.*no option `toString`/],
    [{ limit: 5 }, /`limit` must be an object/],
    [{ filters: null }, /`filters` must be an object/],
    [{ filters: { id: null } }, /`filters.id` must be an object/],
    [{ fields: { id: 'integer' } }, /`fields.id` must be an object/],
    [{ expand: { x: null } }, /`expand.x` must be an object/],
    [{ expand: { x: { ...expansion, fields: { a: null } } } }, /`expand.x.fields.a` must be an object/],
    [{ expand: { x: { ...expansion, many: null } } }, /`expand.x.many` must be an object/],
    [{ expand: { x: { ...expansion, table: 'a.b.c' } } }, /`expand.x.table` must be the name of a table/],
    [{ filters: { id: { kind: 'equals', index: 5 } } }, /`filters.id.index` must be the name of a table/],
    [{ fields: { id: { type: 'enum', values: 'ab' } } }, /`fields.id.values` must be an array of strings/],
    [{ fields: { id: { type: 'integer', hiden: true } } }, /there is no option `fields.id.hiden`/],
    [{ keep: 'no' }, /`keep` must be true or false/],
    [{ table: 'a.b.c' }, /`table` must be the name of a table, with at most one schema/],
    [{ table: '.b' }, /`table` must be the name of a table/],
  ] as [object, RegExp][])
    assert.match(faultsOf(change), expected)
})

test('the faults of all lists are reported at once; two lists cannot share a path', () => {
  const faults = faultsOf({ path: '/a', table: '' }, { path: '/b', key: 'x' })
  assert.match(faults, /\/a: `table` is missing[^]*\/b: `key` names x/)
  assert.match(faultsOf({}, {}), /two lists have the path \/orders/)
})
