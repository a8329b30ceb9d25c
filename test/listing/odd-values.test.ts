// SQLite stores a value of any type in any column, and a key may be the empty text. No page fails for it, and walks go on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { each, onEachEngine } from '../harness/index.ts'
import { readList, walk } from './seed.ts'
import { listService } from './service.ts'

const ids = (items: readonly Record<string, unknown>[]): unknown[] => items.map(({ id }) => id)
const upper = '0190AB00-0000-4000-8000-0000000000CD'

onEachEngine('keys and values that are rare', (engine) => {
  const sqlite = engine.name === 'sqlite'
  const named = list({
    path: '/named',
    table: 'named',
    access: 'public',
    fields: { id: { type: 'text' } },
    key: 'id',
    pages: ['keyset'],
  })
  const referred = list({
    path: '/referred',
    strict: false,
    table: 'referred',
    access: 'public',
    fields: { id: { type: 'integer' }, owner: { type: 'uuid' } },
    key: 'id',
    filters: { owner: 'equals', owners: { kind: 'in', field: 'owner' } },
  })
  const loose = list({
    path: '/loose',
    table: 'loose',
    access: 'public',
    fields: {
      id: { type: 'text' },
      whole: { type: 'integer' },
      name: { type: 'text' },
      fine: { type: 'boolean' },
      at: { type: 'milliseconds' },
    },
    key: 'id',
    sort: ['id', 'whole', 'name', 'at'],
    exports: true,
  })
  const written = list({
    path: '/written',
    table: 'written',
    access: 'public',
    fields: { id: { type: 'integer' }, fine: { type: 'boolean' }, extra: { type: 'json' } },
    key: 'id',
    sort: ['fine'],
    filters: { fine: 'flag', is: { kind: 'equals', field: 'fine' }, among: { kind: 'in', field: 'fine' } },
  })
  const wide = list({ ...written, path: '/wide', table: 'wide' })
  const admitted = list({
    ...written,
    path: '/admitted',
    where: () => ({ fine: true }),
  })
  const statements = [
    `create table named (id ${sqlite ? 'text' : 'text collate "C"'} not null primary key)`,
    `insert into named values (''), ('a'), ('b')`,
    `create table referred (id int not null primary key, owner ${sqlite ? 'text' : 'uuid'} not null)`,
    `insert into referred values (1, '${upper.toLowerCase()}'), (2, '${upper}')`,
  ]
  const odd = [
    'create table loose (id text primary key, whole integer not null, name text not null, fine boolean not null, at integer not null)',
    `insert into loose values ('1', 5, 'a', 1, 0), ('2', 'abc', x'616263', 'true', 'never'), ('3', 'abd', 'b', 'false', 2.5)`,
    `insert into loose values (null, 1, 'none', 0, 0)`,
    'create table written (id integer primary key, fine boolean, extra text)',
    `insert into written values (1, 'true', jsonb('{"a":[1,1.50,12345678901234567890]}')), (2, 'false', '{"b":1}'), (3, 1, jsonb('"x"')),
      (4, 0, x'7b7d'), (5, 'TRUE', null), (6, 2, x'ff'), (7, 'maybe', jsonb('null')), (8, null, jsonb('[]'))`,
    'create table wide (id integer primary key, fine boolean, extra text)',
    'insert into wide values (1, 9223372036854775807, null)',
  ]
  const lists = sqlite ? [named, referred, loose, written, wide, admitted] : [named, referred]
  const { service } = listService(engine, lists, sqlite ? [...statements, ...odd] : statements)

  test('a walk by the key goes on after the empty text', async () => {
    const found: unknown[] = []
    let next = '/named?limit=1'
    for (let pages = 0; next !== '' && pages < 9; pages += 1) {
      const response = await service.fetch(next)
      assert.equal(response.status, 200, next)
      const page = (await response.json()) as { data: Record<string, unknown>[]; nextCursor: string | null }
      found.push(...ids(page.data))
      const link = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
      assert.equal(link === undefined, page.nextCursor === null)
      // A client may take a falsy cursor for the end.
      assert.notEqual(page.nextCursor, '')
      next = link ?? ''
    }
    assert.deepEqual(found, ['', 'a', 'b'])
    assert.equal((await service.fetch('/named?cursor=')).status, 400, 'a client that lost the cursor')
  })

  test('a filter by a UUID in upper case finds it in lower case', async () => {
    assert.deepEqual(ids((await readList(service, `/referred?owner=${upper}`)).data), [1, 2])
    assert.deepEqual(ids((await readList(service, `/referred?owners=x,${upper}`)).data), [1, 2])
    assert.deepEqual(ids((await walk(service, `/referred?owner=${upper}&limit=1`)).flat()), [1, 2])
  })

  if (!sqlite) return
  // The description of the list does not declare such values, so the answers are not held against it.
  const read = async (path: string) =>
    (await fetch(`${service.baseUrl}${path}`)).json() as Promise<{
      data: Record<string, unknown>[]
      pageInfo: { nextCursor: string | null }
    }>
  const walkOdd = async (path: string): Promise<unknown[]> => {
    const found: unknown[] = []
    for (let cursor: string | null = '', pages = 0; cursor !== null && pages < 9; pages += 1) {
      const page = await read(`${path}${cursor && `&cursor=${cursor}`}`)
      found.push(...ids(page.data))
      cursor = page.pageInfo.nextCursor
    }
    return found
  }

  test('a value that SQLite stored with another type is shown as it is', async () => {
    const { data } = await read('/loose')
    assert.deepEqual(data.slice(1), [
      { id: '1', whole: 5, name: 'a', fine: true, at: '1970-01-01T00:00:00.000Z' },
      { id: '2', whole: 'abc', name: 'abc', fine: true, at: 'never' },
      { id: '3', whole: 'abd', name: 'b', fine: false, at: '1970-01-01T00:00:00.002Z' },
    ])
    assert.deepEqual((await read('/loose?fields=id,name')).data[2], { id: '2', name: 'abc' })
    assert.match(await (await service.fetch('/loose.ndjson')).text(), /"whole":"abc","name":"abc"/)
  })

  test('a boolean that is stored as a text is shown as one, and filters find what is shown', async () => {
    const { data } = await read('/written?fields=id,fine')
    assert.deepEqual(each(data, 'fine'), [true, false, true, false, true, 2, 'maybe', null])
    const found = async (query: string): Promise<unknown[]> => ids((await read(`/written?${query}`)).data)
    for (const parameter of ['fine', 'is', 'among']) {
      assert.deepEqual(await found(`${parameter}=true`), [1, 3, 5])
      assert.deepEqual(await found(`${parameter}=false`), [2, 4])
    }
    assert.deepEqual(await walkOdd('/written?fine=true&limit=1'), [1, 3, 5])
    assert.deepEqual(ids((await read('/admitted')).data), [1, 3, 5])
  })

  test('an integer beyond 2^53 in a boolean column does not stop the start', async () => {
    assert.deepEqual((await read('/wide?fields=id')).data, [{ id: 1 }])
  })

  test('JSONB is shown as JSON, with all digits, and other BLOBs as the text of their bytes', async () => {
    const text = await (await fetch(`${service.baseUrl}/written?fields=extra`)).text()
    const shown = [
      '{"a":[1,1.50,12345678901234567890]}',
      '{"b":1}',
      '"x"',
      '{}',
      'null',
      '"\ufffd"',
      'null',
      '[]',
    ]
    assert.ok(text.startsWith(`{"data":[${shown.map((one) => `{"extra":${one}}`).join(',')}]`), text)
  })

  test('a walk passes such values and rows without a key', async () => {
    for (const [sort, expected] of [
      ['id', [null, '1', '2', '3']],
      ['-id', ['3', '2', '1', null]],
      ['whole', [null, '1', '2', '3']],
      ['-whole', ['3', '2', '1', null]],
      ['at', [null, '1', '3', '2']],
    ] as const)
      assert.deepEqual(await walkOdd(`/loose?limit=1&sort=${sort}`), expected, sort)
  })
})
