// `postern types`, the types that it writes, and the client that uses them against the service.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { NotFoundError } from '../../packages/client/src/errors.ts'
import { loadConfigModule } from '../../src/config/module.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { postern } from '../cli/command.ts'
import { onEachEngine, scoped, serviceEnvironment, started, startTestService } from '../harness/index.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { clientOf } from './lists/use.ts'

const root = join(import.meta.dirname, '../..')
const fixture = join(import.meta.dirname, 'lists')
const config = join(fixture, 'postern.config.ts')
const expected = await readFile(join(fixture, 'lists.ts'), 'utf8')

const tables = [
  `create table orders (id bigint primary key not null, status text not null, total integer not null, weight double precision not null,
   placed_at timestamp not null, note text, product text not null, extra json not null, customer text not null)`,
  'create table items (id text primary key not null, name text not null)',
  'create table order_lines (order_id bigint not null, position integer not null, primary key (order_id, position))',
  `insert into items values ('mug', 'Mug')`,
  'insert into order_lines values (1, 1), (1, 2)',
  `insert into orders values
   (1, 'open', 500, 1.5, '2026-03-01 08:00:00', null, 'mug', '{"city":"Bonn"}', 'ada'),
   (2, 'paid', 300, 1.5, '2026-03-02 08:00:00', 'a,b', 'none', '{}', 'ada'),
   (3, 'a,"b', 700, 1.5, '2026-03-03 08:00:00', null, 'mug', '{}', 'bob')`,
]

onEachEngine('types of lists', (engine) => {
  const folder = temporaryFolder()
  const home = started(() => engine.createMigratedDatabase())
  before(async () => {
    await using database = scoped(await openDatabase(home.url))
    await database.transaction(async (tx) => {
      for (const statement of tables) await sql.raw(statement).execute(tx)
    })
  })
  const types = (...args: string[]) =>
    postern(folder, ['types', ...args], { ...serviceEnvironment(home.url), POSTERN_CONFIG: config })

  test('are written with what the tables say about null', async () => {
    const { stdout, stderr } = await types()
    assert.equal(stderr, '')
    assert.equal(stdout, expected)
    assert.match((await types('own.ts')).stdout, /^own\.ts: types of 2 lists$/m)
    assert.equal(await readFile(join(folder, 'own.ts'), 'utf8'), expected)
  })

  test('without a database, fields may be null', async () => {
    const env = { POSTERN_CONFIG: config, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const { stdout, stderr } = await postern(folder, ['types', '--no-database'], env)
    assert.equal(stderr, '')
    assert.match(stdout, /^ {6}total: number \| null$/m)
    assert.equal(stdout.replaceAll(' | null', ''), expected.replaceAll(' | null', ''))
  })

  test('before its migrations, the command says what to do, and leaves the file alone', async () => {
    await using empty = await engine.createDatabase()
    await writeFile(join(folder, 'kept.ts'), 'kept')
    const env = { ...serviceEnvironment(empty.url), POSTERN_CONFIG: config }
    const { code, stderr } = await postern(folder, ['types', 'kept.ts'], env)
    assert.equal(code, 1)
    assert.match(stderr, /\/orders: there is no table or view orders[^]*--no-database/)
    assert.equal(await readFile(join(folder, 'kept.ts'), 'utf8'), 'kept')
  })

  const service = started(async () =>
    startTestService(engine, {
      databaseUrl: home.url,
      config: (await loadConfigModule<PosternConfig>(config))!,
    }),
  )

  test('the client sends what the service reads', async () => {
    const client = clientOf(service.baseUrl)
    const ids = async (
      ...parameters: Parameters<typeof client.list<'/orders'>> extends [unknown, ...infer R] ? R : never
    ) => {
      const found: string[] = []
      for await (const { id } of client.list('/orders', ...parameters)) found.push(id)
      return found.join()
    }
    assert.equal(await ids({ sort: '-total', limit: 1 }), '3,1,2')
    assert.equal(await ids({ status: ['a,"b', 'open'] }), '1,3')
    assert.equal(await ids({ since: new Date('2026-03-02T08:00:00Z'), minTotal: 400 }), '3')
    assert.equal(await ids({ id: [1n, '2'], without: false, text: undefined }), '2')
    assert.equal(await ids({ city: 'Bonn' }), '1')
    assert.throws(() => client.list('/orders', { status: [] }), { name: 'TypeError', message: /status/ })
    const { data } = await client.page('/orders', { page: 1, fields: ['total'], expand: ['item', 'lines'] })
    assert.deepEqual(data[0], {
      total: 500,
      item: { name: 'Mug' },
      lines: { data: [{ position: 1 }, { position: 2 }], hasMore: false },
    })
    assert.deepEqual(await client.one('/orders', '2', { fields: ['id'] }), { id: '2' })
    await assert.rejects(client.one('/orders', 9n), NotFoundError)
  })
})

test('right uses compile, and wrong ones do not', async () => {
  const compiler = join(root, 'node_modules/.bin/tsc')
  const options = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--allowImportingTsExtensions',
    '--skipLibCheck',
  ]
  const modules = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '']
  const args = [...options, ...modules, '--ignoreConfig', join(fixture, 'use.ts')]
  await promisify(execFile)(compiler, args, { cwd: root }).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  )
})
