import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { openDatabase } from '../../src/storage/open.ts'
import { postern, type Ended } from '../cli/command.ts'
import { execute, onEachEngine, scoped, started, temporaryFolder } from '../harness/index.ts'

const config = `import { defineConfig, list } from 'postern'
export default defineConfig({ listing: { lists: [
  ...['orders', 'items'].map((table) =>
    list({ path: '/' + table, table, key: 'id', pages: ['offset'], keep: true, fields: { id: { type: 'integer' } } })),
] } })`

onEachEngine('postern lists', (engine) => {
  const folder = temporaryFolder()

  const home = started(() => engine.createMigratedDatabase())
  before(async () => {
    await writeFile(join(folder, 'postern.config.ts'), config)
    for (const table of ['orders', 'items']) await run(`create table ${table} (id integer primary key)`)
    await run('insert into orders values (1), (2), (3)')
  })

  const lists = (...args: string[]): Promise<Ended> =>
    postern(folder, ['lists', ...args], { DATABASE_URL: home.url })
  async function run(...statements: string[]): Promise<void> {
    await using database = scoped(await openDatabase(home.url))
    await execute(database, ...statements)
  }

  test('keep, check, repair, forget', async () => {
    const early = await lists('check', '/orders')
    assert.equal(early.code, 1)
    assert.match(
      early.stderr,
      /counts of \/orders are not maintained; create them with `postern lists keep \/orders`/,
    )

    const ofUsers = await lists('keep', '/users')
    assert.deepEqual([ofUsers.code, ofUsers.stderr], [1, 'no such list declares `keep: true`\n'])
    assert.match((await lists('keep', '/orders')).stdout, /^\/orders: counts created/m)
    assert.match((await lists('keep', '/orders')).stderr, /the counts of \/orders are maintained already/)
    const { stdout: kept, code: ended } = await lists('keep')
    assert.match(kept, /^\/orders: the counts of \/orders are maintained already\n\/items: counts created/m)
    assert.equal(ended, 0)
    await run('insert into orders values (4)')
    const { stdout, code } = await lists('check')
    assert.match(stdout, /^\/users: 0 rows, counts are correct$/m)
    assert.match(stdout, /^\/orders: 4 rows, counts are correct$/m)
    assert.equal(code, 0)

    await run('update postern_orders_total set size = 9')
    const wrong = await lists('check', '/orders')
    assert.match(
      wrong.stdout,
      /^\/orders: the maintained total is 10, but the table has 4 rows; run `postern lists repair`$/m,
    )
    assert.equal(wrong.code, 1)
    assert.equal((await lists('repair')).code, 0)
    assert.match((await lists('check', '/orders')).stdout, /4 rows, counts are correct/)

    assert.equal((await lists('forget', '/orders')).code, 0)
    assert.equal((await lists('check', '/orders')).code, 1)
    const unknown = await lists('count')
    assert.match(unknown.stderr, /'count' is invalid .* keep, check, repair, forget/)
  })
})
