// Products against a model that does the same by brute force: every page of a random walk, with rows inserted, changed
// and deleted between pages, must be what the model says.
import { test } from 'node:test'
import fc from 'fast-check'
import { products } from '../../src/listing/resources/products.ts'
import type { ProductsTable } from '../../src/storage/tables.ts'
import { onEachEngine } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { byBytes, limits, listDatabase, walkAgainstModel } from './model.ts'

// Few values, so that most keys tie; texts whose order differs between UTF-8 and UTF-16; times a microsecond apart.
const texts = fc.constantFrom('', 'a', 'A', 'é', 'b', '\uffee', '😀', 'a b', "'--")
const id = fc.nat(60).map((n) => `p${n}`)
const row = fc.record<ProductsTable>(
  {
    id,
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
  remove: fc.array(id, { maxLength: 6 }),
  put: fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 4 }),
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
      const order = typeof x === 'number' ? x - (y as number) : byBytes(x, String(y))
      if (order !== 0) return key.startsWith('-') ? -order : order
    }
    return 0
  }
}

/** The values in the order of the list's fields. */
function valuesOf({ id, category, price, stock, name, created_at }: ProductsTable): unknown[] {
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
  const opened = listDatabase(engine)

  test('every page of every walk equals the model', async (context) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 40 }),
        sort,
        filters,
        limits,
        fc.array(change, { maxLength: 4 }),
        async (initial, sort, filters, limits, changes) => {
          const parameters: Record<string, string> = { ...filters, ...(sort !== undefined && { sort }) }
          await walkAgainstModel(opened.database, 'products', {
            list: products,
            parameters,
            initial,
            limits,
            changes,
            passes: (product) => passes(product, parameters),
            order: modelOrder(sort),
            valuesOf,
          })
        },
      ),
      propertyRun(context),
    )
  })
})
