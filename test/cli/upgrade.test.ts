import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeUpgrade, exitCodeOfUpgrade, planUpgrade } from '../../src/cli/migrate.ts'
import { migrations, type Migration } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, scoped, started, temporaryFolder } from '../harness/index.ts'
import { postern } from './command.ts'

const harmless: Migration = {
  number: 9_001,
  name: 'harmless',
  breaking: false,
  sqlite: 'create table later (id integer)',
  postgres: 'create table later (id integer)',
}
const breaking: Migration = { ...harmless, number: 9_002, name: 'gone', breaking: true }

onEachEngine('postern upgrade --check', (engine) => {
  const folder = temporaryFolder()
  const home = started(() => engine.createMigratedDatabase())
  const check = (...args: string[]) =>
    postern(folder, ['upgrade', '--check', ...args], { DATABASE_URL: home.url })
  const onPostgres = engine.name === 'postgres'

  test('up to date: exit code 0, with --json a document', async () => {
    const { code, stdout, stderr } = await check('--json')
    assert.equal(code, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), { pending: [], own: [], rolling: onPostgres })
    assert.match((await check()).stdout, /^the database is up to date: [a-z ]+\n$/)
    assert.equal((await postern(folder, ['upgrade'])).code, 2)
  })

  test("names the product's own migrations, and applies nothing", async () => {
    mkdirSync(join(folder, 'migrations'))
    writeFileSync(join(folder, 'migrations/0001-orders.sql'), 'create table orders (id text primary key)')
    for (const _ of [1, 2]) {
      const { code, stdout } = await check()
      assert.equal(code, 0)
      assert.match(stdout, /^0001-orders of migrations\/ would be applied: make sure/)
    }
  })

  test('a breaking migration makes a rolling upgrade unsafe, another one does not', async () => {
    await using database = scoped(await openDatabase({ databaseUrl: home.url }))
    const plan = await planUpgrade(database, [], [...migrations, harmless])
    assert.deepEqual([plan.rolling, exitCodeOfUpgrade(plan)], [onPostgres, 0])
    assert.match(describeUpgrade(plan, engine.name), /^harmless .* older versions continue to work\n/)
    const unsafe = await planUpgrade(database, [], [...migrations, harmless, breaking])
    assert.deepEqual([unsafe.rolling, exitCodeOfUpgrade(unsafe)], [false, 3])
    assert.match(describeUpgrade(unsafe, engine.name), /^gone would be applied: .* stop working/m)
    if (onPostgres) assert.match(describeUpgrade(unsafe, 'postgres'), /upgrade is not safe/)
  })

  test('a database of a newer version, and a missing one, are errors', async () => {
    const database = await openDatabase({ databaseUrl: home.url })
    const row = "insert into migrations values (9002, 'gone', 1, 0, '')"
    if (database.engine === 'sqlite') await database.batch('request', (connection) => connection.exec(row))
    else await database.pool.query(row)
    await database.close()
    const { code, stderr } = await check()
    assert.equal(code, 1)
    assert.match(stderr, /migration 9002 \(gone\), which this version of Postern does not know/)
    const env = { DATABASE_URL: 'sqlite:nowhere.db' }
    const missing = await postern(folder, ['upgrade', '--check'], env)
    assert.deepEqual([missing.code, /there is no database at/.test(missing.stderr)], [1, true])
  })
})
