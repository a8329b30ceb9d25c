// Products against a model that does the same by brute force: every page of a random walk, with rows inserted, changed
// and deleted between pages, must be what the model says.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { Keyring } from '../../src/crypto/keyring.ts'
import { Pages } from '../../src/listing/pages/pages.ts'
import { readQuery } from '../../src/listing/query.ts'
import { products } from '../../src/listing/resources/products.ts'
import { createListReader } from '../../src/listing/store.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { ProductsTable } from '../../src/storage/tables.ts'
import { onEachEngine, type TestDatabase } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { insertProducts } from './seed.ts'

// Few values, so that most keys tie; texts whose order differs between UTF-8 and UTF-16; times a microsecond apart.
const texts = fc.constantFrom('', 'a', 'A', 'é', 'b', '\uffee', '😀', 'a b', "'--")
const row = fc.record<ProductsTable>(
  {
    id: fc.integer({ min: 0, max: 60 }).map((n) => `p${n}`),
    category: fc.constantFrom('x', 'y'),
    price: fc.constantFrom(-1.5, 0, 0.1, 0.30000000000000004, 1, 2 ** 53, 1e300),
    stock: fc.constantFrom(-1, 0, 0.5, 1, Number.MAX_SAFE_INTEGER),
    name: texts,
    created_at: fc
      .constantFrom(1, 2, 999_999)
      .map((n) => `2026-01-31T08:30:00.${String(n).padStart(6, '0')}Z`),
  },
  { noNullPrototype: true },
)
const sort = fc.option(
  fc
    .array(
      fc.constantFrom(
        'price',
        '-price',
        'name',
        '-name',
        'createdAt',
        '-createdAt',
        'stock',
        'id',
        '',
        '--price',
        '__proto__',
      ),
      { maxLength: 5 },
    )
    .map((keys) => keys.join(',')),
  { nil: undefined },
)
const filters = fc.record(
  {
    category: fc.constantFrom('x', 'y', 'z', "x' or 1=1 --", '\u0000'),
    minPrice: fc.constantFrom('0', '0.1', '.3', '1e0', '-5', 'abc', '', '0x1', '1e999', '-1e999'),
    inStock: fc.constantFrom('true', 'false', '1', 'TRUE', ''),
  },
  { requiredKeys: [] },
)
const change = fc.record({
  remove: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 }),
  put: fc.array(row, { maxLength: 4 }),
})

type Parameters = Readonly<Record<string, string>>

const columns: Record<string, keyof ProductsTable> = {
  price: 'price',
  name: 'name',
  createdAt: 'created_at',
  id: 'id',
}

function modelOrder(sort: string | undefined): (a: ProductsTable, b: ProductsTable) => number {
  const asked = (sort ?? '')
    .split(',')
    .filter((key) => ['price', 'name', 'createdAt'].includes(key.replace(/^-/, '')))
  const seen = new Set<string>()
  const unique = asked.filter((key) => !seen.has(key.replace(/^-/, '')) && seen.add(key.replace(/^-/, '')))
  const keys = unique.length > 0 ? unique : ['createdAt']
  const all = [...keys, keys.at(-1)!.startsWith('-') ? '-id' : 'id']
  return (a, b) => {
    for (const key of all) {
      const column = columns[key.replace(/^-/, '')]!
      const [x, y] = [a[column], b[column]]
      const order =
        typeof x === 'number' ? x - (y as number) : Buffer.compare(Buffer.from(x), Buffer.from(String(y)))
      if (order !== 0) return key.startsWith('-') ? -order : order
    }
    return 0
  }
}

/** As a page has it: the values in the order of the list's fields. */
function asRow({ id, category, price, stock, name, created_at }: ProductsTable): unknown[] {
  return [id, category, price, stock, name, created_at]
}

function passes(product: ProductsTable, { category, minPrice, inStock }: Parameters): boolean {
  const least = minPrice === undefined || !/^[-+.\de]+$/.test(minPrice) ? Number.NaN : Number(minPrice)
  return (
    (category === undefined || product.category === category) &&
    (Number.isNaN(least) || product.price >= least) &&
    (inStock !== 'true' || product.stock > 0)
  )
}

onEachEngine('products against a brute-force model', (engine) => {
  let home: TestDatabase
  let database: Database
  let pages: Pages

  before(async () => {
    home = await engine.createDatabase()
    database = await openDatabase(home.url)
    await migrate(database)
    pages = new Pages(
      database.engine,
      createListReader(database),
      new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more'])),
    )
  })
  after(async () => {
    await database.close()
    await home.drop()
  })

  test('every page of every walk is what the model says', async (context) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 40 }),
        sort,
        filters,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        fc.array(change, { maxLength: 4 }),
        async (initial, sort, filters, limits, changes) => {
          const table = new Map(initial.map((product) => [product.id, product]))
          await database.transaction((tx) => tx.deleteFrom('products').execute())
          if (initial.length > 0) await insertProducts(database, initial)
          const parameters: Record<string, string> = { ...filters, ...(sort !== undefined && { sort }) }
          const order = modelOrder(sort)

          let last: ProductsTable | undefined
          let cursor: string | null = null
          for (let step = 0; ; step += 1) {
            assert.ok(step < 200, 'the walk does not end')
            const limit = limits[step % limits.length]!
            const here: Record<string, string> = { ...parameters, limit: String(limit) }
            if (cursor !== null) here['cursor'] = cursor
            const page = await pages.byCursor.read(readQuery(products, here))

            const rest = [...table.values()]
              .filter(
                (product) => passes(product, parameters) && (last === undefined || order(product, last) > 0),
              )
              .toSorted(order)
            assert.deepEqual(page.rows, rest.slice(0, limit).map(asRow))
            assert.equal(page.nextCursor !== null, rest.length > limit)
            cursor = page.nextCursor
            if (cursor === null) break
            // The cursor's own row is changed and deleted like any other.
            last = rest[limit - 1]
            const next = changes[step]
            if (next) await apply(next, table)
          }
        },
      ),
      propertyRun(context),
    )
  })

  async function apply(
    change: { remove: number[]; put: ProductsTable[] },
    table: Map<string, ProductsTable>,
  ): Promise<void> {
    const gone = [...change.remove.map((n) => `p${n}`), ...change.put.map(({ id }) => id)]
    for (const id of gone) table.delete(id)
    const put = [...new Map(change.put.map((product) => [product.id, product])).values()]
    for (const product of put) table.set(product.id, product)
    await database.transaction(async (tx) => {
      if (gone.length > 0) await tx.deleteFrom('products').where('id', 'in', gone).execute()
      if (put.length > 0) await tx.insertInto('products').values(put).execute()
    })
  }
})
