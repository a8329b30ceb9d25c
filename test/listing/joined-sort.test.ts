// Sorts by a field of an expansion: every walk equals a plain sort, and no page reads the whole table.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { each, onEachEngine } from '../harness/index.ts'
import { allWalks, readList } from './seed.ts'
import { listService } from './service.ts'

const orders = list({
  path: '/orders',
  table: 'orders',
  access: 'public',
  fields: { id: { type: 'integer' }, customer: { type: 'text' }, total: { type: 'integer' } },
  key: 'id',
  expand: {
    buyer: {
      table: 'customers',
      from: 'customer',
      fields: { name: { type: 'text' }, city: { type: 'text' }, total: { type: 'integer', column: 'id2' } },
    },
  },
  sort: ['buyer.name', { field: 'buyer.city', nulls: 'first' }, 'total'],
  order: ['-buyer.name'],
  filters: { least: { kind: 'atLeast', field: 'total' } },
  pages: ['cursor', 'offset'],
  exports: true,
})
const customers = Array.from({ length: 9 }, (_, index) => ({
  id: `c${index}`,
  name: index % 4 === 0 ? null : `n${index % 3}`,
  city: index % 2 === 0 ? null : `b${index % 4}`,
}))
// The customer c8 has no order, and c1 has more of them than a page.
const rows = Array.from({ length: 29 }, (_, id) => ({
  id,
  customer: `c${id % 3 === 0 ? 1 : (id * 5) % 8}`,
  total: id % 4,
}))
const faultsOf = (given: object): string => {
  try {
    readLists({ lists: [{ ...orders, ...given }] })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

onEachEngine('a sort by a field of an expansion', (engine) => {
  const isPostgres = engine.name === 'postgres'
  const demanded: string[] = []
  const opened = listService(engine, [orders], async (database, run) => {
    const quoted = (text: string | null) => (text === null ? 'null' : `'${text}'`)
    await run(
      'create table customers (id text primary key, name text, city text, id2 integer)',
      'create table orders (id integer primary key, total integer, customer text not null references customers (id))',
      ...customers.map(
        ({ id, name, city }) => `insert into customers values ('${id}', ${quoted(name)}, ${quoted(city)}, 1)`,
      ),
      ...rows.map(({ id, customer, total }) => `insert into orders values (${id}, ${total}, '${customer}')`),
    )
    const { faults } = await checkList(database, readLists({ lists: [orders] })[0]!)
    for (const fault of faults) {
      const [, statement] = /^a sort by buyer\.name needs an index: (create index .*)$/.exec(fault)!
      demanded.push(statement!)
      await run(statement!.replace('concurrently ', ''))
    }
    await run('create table loose (id integer primary key, customer text, buyer text not null)')
  })

  function sorted(sort: string, least: number): number[] {
    const descending = sort.startsWith('-')
    const field = sort.replace('-', '').split('.')[1] as 'name' | 'city'
    const nullsFirst = field === 'city' || isPostgres === descending
    const customerOf = (id: string) => customers.find((one) => one.id === id)!
    const compare = (one: (typeof rows)[number], other: (typeof rows)[number]): number => {
      const [x, y] = [customerOf(one.customer)[field], customerOf(other.customer)[field]]
      const turn = descending ? -1 : 1
      if (x !== y && (x === null || y === null)) return (x === null) === nullsFirst ? -1 : 1
      if (x !== y) return x! < y! ? -turn : turn
      return one.customer === other.customer
        ? turn * (one.id - other.id)
        : one.customer < other.customer
          ? -turn
          : turn
    }
    return rows
      .filter(({ total }) => total >= least)
      .toSorted(compare)
      .map(({ id }) => id)
  }

  test('the indexes of both tables are demanded at the start', () => {
    const wanted = isPostgres
      ? [
          /"customers" \("name", "id"\)/,
          /"orders" \("customer", "id"\)/,
          /\("city" nulls first, "id"\)/,
          /\("city" desc, "id" desc\)/,
        ]
      : [/"customers" \("name", "id"\)/, /"orders" \("customer", "id"\)/, /"customers" \("city", "id"\)/]
    for (const pattern of wanted)
      assert.ok(
        demanded.some((statement) => pattern.test(statement)),
        `${demanded.join('\n')} has no ${pattern.source}`,
      )
  })

  for (const sort of ['buyer.name', '-buyer.name', 'buyer.city', '-buyer.city'])
    test(`${sort}: by cursor, back, by number and exported, with a filter and without`, async () => {
      for (const least of [0, 2])
        for (const limit of [2, 7]) {
          const walks = await allWalks(opened.service, '/orders', `sort=${sort}&least=${least}`, limit)
          for (const [way, ids] of Object.entries(walks))
            assert.deepEqual(ids, sorted(sort, least), `${sort} from ${least} by ${limit}: ${way}`)
        }
    })

  test('it is the default order, stands alone, and shows only the fields that were requested', async () => {
    const { data } = await readList(opened.service, '/orders?limit=100&fields=total&expand=buyer')
    assert.equal(data.length, rows.length)
    assert.deepEqual(Object.keys(data[0]!), ['total', 'buyer'])
    const all = (await readList(opened.service, '/orders?limit=100')).data
    assert.deepEqual(each(all, 'id'), sorted('-buyer.name', 0))
    for (const sort of ['buyer.name,id', 'total,-buyer.name', 'buyer.id', 'buyer', 'other.name'])
      assert.equal((await opened.service.fetch(`/orders?sort=${sort}`)).status, 400, sort)
  })

  test('no page reads a table as a whole', async () => {
    const { database } = opened.service
    const { list: checked, faults } = await checkList(database, readLists({ lists: [orders] })[0]!)
    assert.deepEqual(faults, [])
    const explained = await explainList(database, checked)
    for (const { query, steps } of explained.filter((one) => one.query.startsWith('sort=buyer'))) {
      const text = steps.join('; ')
      assert.match(text, /customers_by_(?:name|city)\w*/, query)
      assert.doesNotMatch(text, /Seq Scan|SCAN (?:orders|customers)/, `${query}: ${text}`)
    }
  })

  test('what no index serves stops the start, and says what to do', async () => {
    const { database } = opened.service
    const of = async (given: object) =>
      (await checkList(database, readLists({ lists: [{ ...orders, ...given }] })[0]!)).faults.join()
    const fields = {
      id: { type: 'integer' },
      customer: { type: 'text' },
      total: { type: 'integer', column: 'id' },
    }
    assert.match(await of({ table: 'loose', fields }), /loose\.customer to be `not null`/)
    const named = { ...fields, customer: { type: 'text', column: 'buyer' } }
    assert.match(
      await of({ table: 'loose', fields: named }),
      /foreign key.*\("buyer"\) references "customers" \("id"\)/,
    )
    const { buyer } = orders.expand!
    assert.match(faultsOf({ expand: { buyer: { ...buyer, many: { order: ['name'] } } } }), /has many buyer/)
    assert.match(faultsOf({ where: () => ({ total: 1 }) }), /no index has the rows of `where`/)
    assert.match(faultsOf({ sort: ['buyer.none'] }), /names none, which is not a field/)
    assert.match(faultsOf({ order: ['buyer.name', 'id'] }), /must be the only one/)
    assert.match(
      faultsOf({ fields: { ...orders.fields, customer: { type: 'text', hidden: true } } }),
      /customer, which is hidden/,
    )
  })
})
