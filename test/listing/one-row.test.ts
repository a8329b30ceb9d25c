// GET /{list}/{key}: one row as the list shows it, and nothing that the list would not show.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { onEachEngine, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createTables, insertMeasurements, measurements, tablesOf } from './declared.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const named = {
  table: 'people',
  fields: { login: { type: 'text' }, name: { type: 'text' } },
  key: 'login',
  access: 'public',
  one: true,
} as const
const people = 'create table people (login text primary key, name text not null)'
const expand = {
  person: { table: 'people', from: 'owner', key: 'login', fields: { name: { type: 'text' } } },
} as const
const lists = [
  list({ ...measurements, path: '/rows', expand, one: true }),
  list({ ...measurements, path: '/bobs', one: true, where: () => ({ owner: 'bob' }) }),
  list({
    ...measurements,
    path: '/own',
    access: 'user',
    one: true,
    where: (caller) => ({ owner: caller.userId }),
  }),
  list({ ...named, path: '/people' }),
  list({ ...measurements, path: '/without' }),
]
const logins = ['ada', 'a/b', 'ü 😀', '..', 'summary', '%']

onEachEngine('one row of a list', (engine) => {
  const { service } = listService(engine, lists, [...tablesOf(engine), people])
  before(async () => {
    await insertMeasurements(service.database, 30)
    await service.database.transaction(async (tx) => {
      for (const login of logins) await sql`insert into people values (${login}, ${`n ${login}`})`.execute(tx)
    })
  })
  const at = (path: string, key: unknown, more = '') =>
    service.fetch(`${path}/${encodeURIComponent(String(key))}${more}`)

  test('it is the item of the list, with the chosen fields and the expansion', async () => {
    const { data } = await readList(service, '/rows?limit=100')
    for (const item of data) assert.deepEqual(await (await at('/rows', item['id'])).json(), item)
    const [first] = (await readList(service, '/rows?limit=1&fields=id,day&expand=person')).data
    assert.deepEqual(await (await at('/rows', first!['id'], '?fields=id,day&expand=person')).json(), first)
    assert.ok('person' in first!)
  })

  test('keys of any text are found', async () => {
    // The URL parser of fetch resolves `..` as a path, so a browser cannot ask for this key.
    for (const login of logins.filter((one) => one !== '..'))
      assert.deepEqual(await (await at('/people', login)).json(), { login, name: `n ${login}` }, login)
  })

  test('what the caller may not see is as absent as what does not exist', async () => {
    const { data } = await readList(service, '/rows?limit=100&fields=id')
    const seen = new Set((await readList(service, '/bobs?limit=100&fields=id')).data.map(({ id }) => id))
    const hidden = data.find(({ id }) => !seen.has(id))!['id']
    const shape = async (response: Response) => {
      const { requestId: _, ...problem } = (await response.json()) as Record<string, unknown>
      return [response.status, problem]
    }
    const absent = await shape(await at('/bobs', 1))
    assert.equal(absent[0], 404)
    assert.deepEqual(await shape(await at('/bobs', hidden)), absent)
    for (const key of ['x', '1.5', '1e99', "1' or 1=1--", '9'.repeat(400)])
      assert.deepEqual(await shape(await at('/bobs', key)), absent, key)
    assert.equal((await at('/bobs', '\u0000')).status, 404)
    assert.equal((await at('/bobs', [...seen][0])).status, 200)
    assert.equal((await at('/own', hidden)).status, 401)
    assert.equal((await service.admin(`/own/${String(hidden)}`)).status, 404)
    assert.equal((await at('/without', hidden)).status, 404, 'only where it is declared')
  })

  test('parameters are checked as in the list', async () => {
    for (const query of ['?limit=1', '?sort=id', '?key=2', '?fields=owner', '?field=id', '?cursor=x'])
      assert.equal((await at('/rows', 1, query)).status, 400, query)
  })

  test('it has an entity tag, and HEAD', async () => {
    const response = await at('/people', 'ada')
    const headers = { 'if-none-match': response.headers.get('etag')! }
    assert.equal((await service.fetch('/people/ada', { headers })).status, 304)
    const head = await service.fetch('/people/ada', { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(head.headers.get('etag'), response.headers.get('etag'))
  })

  test('the catalogue and the OpenAPI document have it', async () => {
    const { paths } = (await (await service.fetch('/openapi.json')).json()) as { paths: object }
    assert.ok('/rows/{key}' in paths && !('/without/{key}' in paths))
    const { data } = (await (await service.admin('/lists')).json()) as AnswerTo<'GET /lists'>
    assert.equal(data.find(({ path }) => path === '/rows')!.one, true)
  })

  test('a path of another call stops the start', async () => {
    const taken = list({ ...named, path: '/auth' })
    const { url } = await engine.createMigratedDatabase()
    await createTables(url, [people])
    await assert.rejects(
      startTestService(engine, { databaseUrl: url, config: { listing: { lists: [taken] } } }),
      /\/auth: `one` is not possible: the service has an endpoint with the path \/auth\/\{…\}/,
    )
  })
})
