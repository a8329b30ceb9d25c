// Keys that equal what they are looked up by and are written otherwise: what is equal is the database's to say.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const text = { type: 'text' } as const
const orders = list({
  path: '/orders',
  table: 'orders',
  access: 'public',
  fields: { id: { type: 'integer' }, email: { type: 'text', nullable: true }, rate: { type: 'numeric' } },
  key: 'id',
  expand: {
    person: { table: 'people', from: 'email', key: 'email', fields: { name: text } },
    logins: {
      table: 'logins',
      from: 'email',
      key: 'email',
      fields: { at: { type: 'integer' } },
      many: { order: ['at'], limit: 2 },
    },
    band: { table: 'bands', from: 'rate', key: 'rate', fields: { name: text } },
  },
})

onEachEngine('an expansion by keys with other spellings', (engine) => {
  const postgres = engine.name === 'postgres'
  const folded = postgres ? 'text collate folded' : 'text collate nocase'
  const opened = listService(
    engine,
    [orders],
    [
      ...(postgres
        ? [`create collation folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`]
        : []),
      'create table orders (id int not null primary key, email text, rate numeric not null)',
      `create table people (email ${folded} not null primary key, name text not null)`,
      `create table logins (email ${folded} not null, at int not null)`,
      'create table bands (rate numeric not null primary key, name text not null)',
      `insert into orders values (1, 'Ada@x.org', 1), (2, 'ada@x.org', 2.50), (3, 'bob@x.org', 7), (4, null, 1),
      (5, 'null', 1)`,
      `insert into people values ('ADA@X.org', 'Ada'), ('eve@x.org', 'Eve'), ('null', 'Null')`,
      `insert into logins values ('ada@x.org', 1), ('ADA@x.org', 2), ('Ada@x.org', 3), ('BOB@x.org', 9)`,
      `insert into bands values (1.00, 'low'), (2.5, 'high')`,
    ],
  )

  test('one row is found by every spelling', async () => {
    const { data } = await readList(opened.service, '/orders?fields=id&expand=person,band')
    assert.deepEqual(data, [
      { id: 1, person: { name: 'Ada' }, band: { name: 'low' } },
      { id: 2, person: { name: 'Ada' }, band: { name: 'high' } },
      { id: 3, person: null, band: null },
      { id: 4, person: null, band: { name: 'low' } },
      { id: 5, person: { name: 'Null' }, band: { name: 'low' } },
    ])
  })

  test('several rows are found by every spelling', async () => {
    const { data } = await readList(opened.service, '/orders?fields=id&expand=logins')
    const ada = { data: [{ at: 1 }, { at: 2 }], hasMore: true }
    assert.deepEqual(data, [
      { id: 1, logins: ada },
      { id: 2, logins: ada },
      { id: 3, logins: { data: [{ at: 9 }], hasMore: false } },
      { id: 4, logins: { data: [], hasMore: false } },
      { id: 5, logins: { data: [], hasMore: false } },
    ])
  })
})
