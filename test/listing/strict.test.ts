// A strict list refuses a query that it would otherwise answer with other rows than the caller meant.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { insertMeasurements, measurements, tablesOf } from './declared.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const rows = 30
const declared = {
  ...measurements,
  pages: ['cursor', 'offset'],
  filters: {
    state: 'in',
    text: 'in',
    small: 'equals',
    since: { kind: 'atLeast', field: 'at' },
    day: { kind: 'atLeast', field: 'day' },
    fine: 'flag',
    textless: { kind: 'null', field: 'text' },
    uuid: 'equals',
  },
  expand: {
    person: { table: 'people', from: 'owner', key: 'login', fields: { login: { type: 'text' } } },
  },
  count: 'estimate',
  exports: true,
} as const

const refused: readonly (readonly [query: string, parameter: string, says: RegExp])[] = [
  [
    'stat=done',
    'stat',
    /There is no parameter `stat` here\. The parameters are limit, page, cursor, count, /,
  ],
  ['state=dnoe', 'state', /the value "dnoe", which is not one of new, done, odd/],
  ['state=done,dnoe', 'state', /"dnoe"/],
  ['state=done&state=dnoe', 'state', /"dnoe"/],
  ['state[]=done,new', 'state', /"done,new"/],
  [`text=${'x,'.repeat(51)}`, 'text', /more than 50 values/],
  [`text=${'x,'.repeat(26)}&text=${'x,'.repeat(26)}`, 'text', /more than 50 values/],
  ['small=ten', 'small', /"ten", which is not an integer/],
  ['small=', 'small', /not an integer/],
  ['small=1&small=2', 'small', /came twice/],
  ['small[]=1', 'small[]', /There is no parameter/],
  ['since=1767225600', 'since', /which is not a time such as 2026-01-31T08:30:00Z/],
  ['day=2026-01-01T10:00:00Z', 'day', /not a date such as 2026-01-31/],
  ['fine=TRUE', 'fine', /not `true` or `false`/],
  ['fine=1', 'fine', /not `true` or `false`/],
  ['textless=yes', 'textless', /not `true` or `false`/],
  ['uuid=x', 'uuid', /not a UUID/],
  ['text=%00', 'text', /not a text without the character U\+0000/],
  ['page=abc', 'page', /"abc", which is not a positive integer/],
  ['page=0', 'page', /positive integer/],
  ['limit=1.5', 'limit', /positive integer/],
  ['limit=', 'limit', /positive integer/],
  ['sort=nosuch', 'sort', /"nosuch", which is not one of id, text/],
  ['sort=id,-owner', 'sort', /"-owner"/],
  ['fields=id,owner', 'fields', /"owner", which is not one of id, text/],
  ['expand=owner', 'expand', /not one of person/],
  ['count=exact', 'count', /not one of none, estimate/],
  ['__proto__=1', '__proto__', /There is no parameter/],
  ['constructor=1', 'constructor', /There is no parameter/],
  [`${'y'.repeat(500)}=1`, `${'y'.repeat(60)}…`, /There is no parameter `y{60}…`/],
  ['small=1&'.repeat(101), 'parameters', /more than 100 parameters/],
]

onEachEngine('a strict list', (engine) => {
  const { service, run } = listService(
    engine,
    [list({ ...declared, path: '/strict' }), list({ ...declared, path: '/lenient', strict: false })],
    [...tablesOf(engine), 'create table people (login text primary key)'],
  )
  before(() => insertMeasurements(service.database, rows))

  test('a query that it cannot read is an error that names the parameter, the value and what is allowed', async () => {
    // What a form field of the type datetime-local sends. SQLite compares texts where the rows have several forms.
    const unzoned = ['since=2026-01-01T00:00', 'since', /not a time/] as const
    for (const [query, parameter, says] of engine.name === 'postgres' ? [...refused, unzoned] : refused) {
      const response = await service.fetch(`/strict?${query}`)
      assert.equal(response.status, 400, query)
      const problem = (await response.json()) as { code: string; detail: string; source: object }
      assert.equal(problem.code, 'invalid-parameter', query)
      assert.match(problem.detail, says, query)
      assert.deepEqual(problem.source, { parameter }, query)
      assert.ok(problem.detail.length < 500, query)
    }
  })

  test('without `strict`, the same queries are answered', async () => {
    for (const [query, , says] of refused)
      if (!/more than 50/.test(says.source))
        assert.equal((await service.fetch(`/lenient?${query}`)).status, 200, query)
  })

  test('an export with a misspelled filter exports nothing; it has no pages', async () => {
    for (const query of ['stat=done', 'state=dnoe', 'limit=10', 'page=2', 'cursor=x'])
      for (const format of ['csv', 'ndjson']) {
        const response = await service.fetch(`/strict.${format}?${query}`)
        assert.equal(response.status, 400, query)
        assert.match(response.headers.get('content-type')!, /problem\+json/)
      }
    assert.equal((await service.fetch('/strict.csv?state=done')).status, 200)
  })

  test('a limit above the maximum is clamped, and what forms leave empty is as if it were absent', async () => {
    const { pagination } = await readList(service, '/strict?page=1&limit=100000')
    assert.equal(pagination.limit, 100)
    assert.equal((await readList(service, '/strict?sort=&fields=&expand=')).data.length, 20)
  })

  test('several values: by commas, repeated, and with brackets; a comma within a value', async () => {
    const ids = async (query: string): Promise<unknown[]> =>
      (await readList(service, `/strict?limit=100&fields=id&sort=id&${query}`)).data.map(({ id }) => id)
    const two = await ids('state=new,done')
    assert.ok(two.length > 0 && two.length < rows)
    for (const query of ['state=new&state=done', 'state[]=new&state[]=done', 'state%5B%5D=new&state=done'])
      assert.deepEqual(await ids(query), two, query)
    const [row] = await ids('text=é')
    await run(`update measurements set a_text = 'x,y' where id = ${String(row)}`)
    for (const query of ['text=x%5C,y', 'text=%22x,y%22', 'text[]=x,y', 'text=nosuch,x%5C,y'])
      assert.deepEqual(await ids(query), [row], query)
    assert.deepEqual(await ids('text=x,y'), [])
  })

  test('the pages of a query with repeated values share their cursor with the joined form', async () => {
    const first = await readList(service, '/strict?state=new&state=done&limit=3')
    const cursor = first.pageInfo.nextCursor
    const second = await readList(service, `/strict?state=new,done&limit=3&cursor=${cursor}`)
    assert.equal(second.data.length, 3)
  })
})
