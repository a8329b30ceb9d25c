// examples/existing-tables: lists over a shop's own schema, which Postern reads with a role that cannot write it.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { loadConfigModule } from '../../src/config/module.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { adminKey, each, scoped, startTestService, type TestService } from '../harness/index.ts'
import { engines, type TestDatabase } from '../harness/engines.ts'
import { blocksOf, stepsOf } from '../repository/documented/blocks.ts'
import { matches } from '../repository/documented/mask.ts'

const folder = 'examples/existing-tables'
const postgres = engines.find(({ name }) => name === 'postgres')
const config = (await loadConfigModule<PosternConfig>(`${folder}/postern.config.ts`))!

interface Page {
  data: Record<string, unknown>[]
  pageInfo: { nextCursor: string | null }
  pagination: { total: number }
}

describe(folder, { skip: !postgres && 'needs PostgreSQL' }, () => {
  let home: TestDatabase
  let owner: pg.Client
  let role: string
  let url: string
  let service: TestService

  const file = (name: string): string => readFileSync(join(folder, name), 'utf8')

  before(async () => {
    home = await postgres!.createDatabase()
    const name = new URL(home.url).pathname.slice(1)
    role = `role_${name}`
    owner = new pg.Client({ connectionString: home.url })
    await owner.connect()
    await owner.query(file('schema.sql'))
    await owner.query(file('data.sql'))
    // Roles belong to the server, which other tests use too.
    await owner.query(
      file('role.sql')
        .replace(":'password'", "'room'")
        .replaceAll(/\b(role|authorization|to) postern\b/g, `$1 ${role}`),
    )
    for (const statement of file('indexes.sql').matchAll(/^create .*;$/gm)) await owner.query(statement[0])
    const own = new URL(home.url)
    own.username = role
    own.password = 'room'
    url = own.href
    service = await startTestService(postgres!, {
      databaseUrl: url,
      config,
      parts: { migrationsFolder: `${folder}/migrations` },
    })
  })
  after(async () => {
    await service?.close()
    await owner?.query(`drop schema postern cascade; drop owned by ${role}; drop role ${role}`)
    await owner?.end()
    await home?.drop()
  })

  const hasPsql = spawnSync('psql', ['--version']).status === 0

  test(
    'the commands of the README print what it shows',
    { skip: !hasPsql && 'psql is not installed' },
    async () => {
      const env = { PATH: process.env['PATH'], POSTERN_KEY: adminKey, DATABASE_URL: url }
      const blocks = blocksOf(`${folder}/README.md`).filter(({ info }) => info.startsWith('run-by '))
      assert.ok(blocks.length >= 5, `${blocks.length} blocks`)
      for (const { command, output } of blocks.flatMap(stepsOf)) {
        const script = command.replaceAll('http://127.0.0.1:3000', service.baseUrl)
        // psql ends with 1 where the page shows an error.
        const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], { env }).catch(
          (error: { stdout: string; stderr: string }) => error,
        )
        assert.ok(matches(output, stdout + stderr), `${command}\n${stdout}${stderr}`)
      }
    },
  )

  const read = async (path: string): Promise<Page> => {
    const answer = await service.admin(path)
    assert.equal(answer.status, 200, path)
    return (await answer.json()) as Page
  }

  test('each column type of the shop is shown', async () => {
    const { data } = await read('/orders?limit=1&sort=total&expand=lines,buyer')
    assert.deepEqual(data, [
      {
        id: '1',
        status: 'paid',
        total: '13.25',
        gift: false,
        note: null,
        placedAt: '2026-02-01T08:00:00.000Z',
        sentAt: null,
        customer: '6f1c2f6e-0000-4000-8000-000000000002',
        lines: { data: [{ position: 1, sku: 'DESK-2', quantity: 2, price: '10.00' }], hasMore: false },
        buyer: { name: 'Bea', email: 'bea@example.com', country: 'DE' },
      },
    ])
    const { data: products } = await read('/catalogue')
    assert.deepEqual(products, [
      { sku: 'DESK-2', name: 'Desk', price: '249.00', tags: ['home'], attributes: {}, released: null },
      {
        sku: 'LAMP-1',
        name: 'Lamp',
        price: '49.90',
        tags: ['light', 'home'],
        attributes: { watts: 9.5 },
        released: '2025-11-01',
      },
    ])
  })

  test('a walk of cursors shows each order once, while orders with the same time share a page boundary', async () => {
    const seen: unknown[] = []
    let cursor = ''
    do {
      const { data, pageInfo } = await read(`/orders?limit=7${cursor && `&cursor=${cursor}`}`)
      seen.push(...data.map(({ id }) => id))
      cursor = pageInfo.nextCursor ?? ''
    } while (cursor !== '')
    const { rows } = await owner.query<{ id: string }>(
      'select id from shop.orders order by placed_at desc, id desc',
    )
    assert.deepEqual(seen, each(rows, 'id'))
  })

  test('filters and totals agree with the tables', async () => {
    const { data, pagination } = await read('/orders?status=paid,sent&minTotal=100&page=1&limit=100')
    const { rows } = await owner.query<{ id: string }>(
      `select id from shop.orders where status in ('paid', 'sent') and total >= 100 order by placed_at desc, id desc`,
    )
    assert.ok(rows.length > 0)
    assert.deepEqual(each(data, 'id'), each(rows, 'id'))
    assert.equal(pagination.total, rows.length)
  })

  test('the view of sales is a list, and an export has all orders', async () => {
    const { data } = await read('/sales?country=DE')
    const { rows } = await owner.query<{ revenue: string }>(
      `select revenue from shop.sales where country = 'DE' order by month desc`,
    )
    assert.deepEqual(each(data, 'revenue'), each(rows, 'revenue'))
    const csv = await (await service.admin('/orders.csv')).text()
    assert.equal(csv.trim().split('\r\n').length, 61)
  })

  test('what needs a credential asks for it, and the catalogue does not', async () => {
    const status = async (path: string) => (await service.fetch(path)).status
    assert.deepEqual(
      await Promise.all(['/orders', '/my-orders', '/sales', '/catalogue'].map(status)),
      [401, 401, 401, 200],
    )
    // A key has no user, so no order is its own.
    assert.deepEqual((await read('/my-orders')).data, [])
  })

  test("Postern's role cannot write the shop's tables, and its own tables are not among them", async () => {
    const reader = new pg.Client({ connectionString: url })
    await reader.connect()
    try {
      for (const table of ['customers', 'products', 'orders', 'order_lines'])
        await assert.rejects(reader.query(`delete from shop.${table}`), /permission denied/)
    } finally {
      await reader.end()
    }
    const { rows } = await owner.query<{ table_schema: string; count: number }>(
      `select table_schema, count(*)::int as count from information_schema.tables
       where table_name in ('users', 'events', 'orders') group by 1 order by 1`,
    )
    assert.deepEqual(rows, [
      { table_schema: 'postern', count: 2 },
      { table_schema: 'shop', count: 1 },
    ])
  })

  test('a table that the role may not read is named at the start', async () => {
    await owner.query(`revoke select on shop.products from ${role}`)
    const database = await openDatabase(url)
    try {
      const catalogue = readLists(config.listing).find(({ path }) => path === '/catalogue')!
      const { faults } = await checkList(database, catalogue)
      assert.deepEqual(faults, [
        'the role of DATABASE_URL may not read shop.products: grant select on "shop"."products" to it',
      ])
    } finally {
      await database.close()
      await owner.query(`grant select on shop.products to ${role}`)
    }
  })

  test('indexes.sql has all indexes that the lists need', async () => {
    await using database = scoped(await openDatabase(url))
    const checked = await Promise.all(readLists(config.listing).map((list) => checkList(database, list)))
    for (const { list, faults, missing } of checked)
      assert.deepEqual([list.path, faults, missing], [list.path, [], []])
  })
})
