// Filters by numbers compare exactly, however a number is written: snowflake ids and nanoseconds are beyond 2^53, and programs and
// spreadsheets write them with an exponent or a fraction.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { checkList } from '../../src/listing/checking/check.ts'
import type { List } from '../../src/listing/config.ts'
import { readLists } from '../../src/listing/declaration.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { readQuery } from '../../src/listing/query.ts'
import { onEachEngine } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { listDatabase, pagesOf } from './model.ts'

const kinds = {
  from: 'atLeast',
  above: 'above',
  to: 'atMost',
  below: 'below',
  is: 'equals',
  among: 'in',
} as const
type Parameter = keyof typeof kinds
const filters = (field: string): Exclude<List['filters'], undefined> =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, { kind, field }]))
const fields = { id: { type: 'integer' }, n: { type: 'bigint' } } as const
const lists: List[] = [
  { path: '/nulls', table: 'nulls', fields, key: 'id', filters: filters('n') },
  { path: '/big', table: 'big', fields, key: 'id', filters: filters('n') },
  {
    path: '/small',
    table: 'small',
    fields: { ...fields, n: { type: 'integer' } },
    key: 'id',
    filters: filters('n'),
  },
  {
    path: '/exact',
    table: 'exact',
    fields: { ...fields, n: { type: 'numeric' } },
    key: 'id',
    filters: filters('n'),
  },
  {
    path: '/double',
    table: 'doubles',
    fields: { ...fields, n: { type: 'number' } },
    key: 'id',
    filters: filters('n'),
  },
]

const edge = 2n ** 63n
const safe = 2n ** 53n
const big = Array.from({ length: 10 }, (_, index) => 1_200_000_000_000_000_001n + BigInt(index)).concat(
  [0n, 1n, -1n, 10n, -10n, safe - 1n, safe, safe + 1n, -safe, -safe - 1n],
  [edge - 1n, edge - 2n, -edge, 1n - edge],
)
const small = [0n, 1n, -1n, 10n, -10n, safe - 1n, safe - 2n, 1n - safe]

/** An integer times 10^-scale, written in one of several ways. */
interface Written {
  size: bigint
  scale: number
  text: string
}
const written = fc
  .tuple(
    fc.constantFrom(...big, edge, -edge - 1n, 3n, 10n ** 30n),
    fc.constantFrom('0', '5', '00', '000000000000000000001', '999999999'),
    fc.boolean(),
    fc.integer({ min: -25, max: 25 }),
    fc.constantFrom('', '0', '000'),
  )
  .map(([whole, fraction, exponential, shift, zeros]): Written => {
    const scale = fraction.length
    const magnitude = (whole < 0n ? -whole : whole) * 10n ** BigInt(scale) + BigInt(fraction)
    const size = whole < 0n ? -magnitude : magnitude
    const sign = whole < 0n ? '-' : ''
    const digits = String(magnitude).padStart(scale + 1, '0')
    if (!exponential)
      return { size, scale, text: `${sign}${zeros}${digits.slice(0, -scale)}.${digits.slice(-scale)}` }
    // The point is moved by `shift`, and the exponent moves it back.
    const places = scale + shift
    const moved = digits
      .padEnd(digits.length + Math.max(0, -places), '0')
      .padStart(Math.max(0, places) + 1, '0')
    const point = moved.length - Math.max(0, places)
    const text = `${sign}${zeros}${moved.slice(0, point)}.${moved.slice(point)}e${Math.max(0, places) - scale - (places < 0 ? -places : 0)}`
    return { size, scale, text }
  })

const passes: Record<Parameter, (order: number) => boolean> = {
  from: (order) => order >= 0,
  above: (order) => order > 0,
  to: (order) => order <= 0,
  below: (order) => order < 0,
  is: (order) => order === 0,
  among: (order) => order === 0,
}

onEachEngine('filters by numbers that are written in several ways', (engine) => {
  const postgres = engine.name === 'postgres'
  const known = new Map<string, ListDeclaration>()
  const exact = postgres
    ? [
        '1e399',
        '1e400',
        '-1e400',
        '1e-400',
        '0',
        '1200000000000000005',
        '1200000000000000005.5',
        'NaN',
        'Infinity',
        '-Infinity',
        '1.50',
      ]
    : [
        '1200000000000000004',
        '1200000000000000005',
        '1200000000000000006',
        '2.5',
        '9e999',
        '-9e999',
        '0',
        '5e-324',
        '1e300',
      ]
  const opened = listDatabase(engine, async (database) => {
    const insert = (table: string, values: readonly (string | number | bigint)[]): string =>
      `insert into ${table} values ${values.map((value, index) => `(${index}, ${value})`).join(', ')}`
    const quoted = (values: readonly string[]): string[] =>
      postgres ? values.map((value) => `'${value}'`) : [...values]
    await database.transaction(async (tx) => {
      for (const statement of [
        'create table big (id int not null primary key, n bigint not null)',
        'create table small (id int not null primary key, n bigint not null)',
        'create table exact (id int not null primary key, n numeric not null)',
        'create table doubles (id int not null primary key, n double precision not null)',
        insert('big', quoted(big.map(String))),
        'create table nulls (id int not null primary key, n bigint)',
        'insert into nulls values (0, 1), (1, null)',
        insert('small', small),
        insert('exact', quoted(exact)),
        insert(
          'doubles',
          postgres ? [`'Infinity'`, `'-Infinity'`, 1e300, 0, 5e-324] : ['9e999', '-9e999', 1e300, 0, 5e-324],
        ),
      ])
        await sql.raw(statement).execute(tx)
    })
    for (const declaration of readLists({ lists })) {
      const { list, faults } = await checkList(database, declaration)
      assert.deepEqual(faults, [])
      known.set(list.path, { ...list, strict: false })
    }
  })
  const ids = async (path: string, parameter: Parameter, text: string): Promise<unknown[]> => {
    const query = readQuery(known.get(path)!, { [parameter]: text, limit: '100' })
    return (await pagesOf(opened.database).byCursor(query)).rows.map(([id]) => Number(id))
  }

  for (const [path, values] of [
    ['/big', big],
    ['/small', small],
  ] as const)
    test(`${path}: every bound equals the comparison of exact fractions`, async (context) => {
      await fc.assert(
        fc.asyncProperty(
          written,
          fc.constantFrom(...(Object.keys(kinds) as Parameter[])),
          async (number, parameter) => {
            const expected = values.flatMap((value, id) => {
              const difference = value * 10n ** BigInt(number.scale) - number.size
              return passes[parameter](difference > 0n ? 1 : difference < 0n ? -1 : 0) ? [id] : []
            })
            assert.deepEqual(await ids(path, parameter, number.text), expected, number.text)
          },
        ),
        propertyRun(context),
      )
    })

  test('a bound that is beyond all values passes none that is null', async () => {
    for (const parameter of ['from', 'above'] as const)
      for (const text of ['-5', '-1e30']) assert.deepEqual(await ids('/nulls', parameter, text), [0], text)
    assert.deepEqual(await ids('/nulls', 'to', '1e30'), [0])
  })

  test('numbers beyond all digits are above or below all values, or next to 0', async () => {
    const all = small.map((_, id) => id)
    for (const path of ['/big', '/small']) {
      const some = path === '/big' ? big : small
      const where = (keep: (value: bigint) => boolean): number[] =>
        some.flatMap((value, id) => (keep(value) ? [id] : []))
      for (const huge of ['1e999999999999', `1${'0'.repeat(9_000)}`]) {
        assert.deepEqual(await ids(path, 'from', huge), [])
        assert.deepEqual(
          await ids(path, 'to', huge),
          where(() => true),
        )
        assert.deepEqual(await ids(path, 'below', `-${huge}`), [])
      }
      for (const tiny of ['1e-999999999999', `0.${'0'.repeat(9_000)}1`]) {
        assert.deepEqual(
          await ids(path, 'from', tiny),
          where((value) => value > 0n),
        )
        assert.deepEqual(
          await ids(path, 'above', `-${tiny}`),
          where((value) => value >= 0n),
        )
        assert.deepEqual(await ids(path, 'is', tiny), [])
      }
      for (const text of ['.', 'e5', '1e', '0x10', '--1', '1_000', ''])
        assert.deepEqual(await ids(path, 'is', text), [], text)
    }
    assert.equal(all.length, small.length)
  })

  test('numeric: all digits count, beyond a double, too', async () => {
    const found = async (parameter: Parameter, text: string): Promise<string[]> =>
      (await ids('/exact', parameter, text)).map((id) => exact[Number(id)]!)
    if (postgres) {
      assert.deepEqual(await found('from', '1e399'), ['1e399', '1e400', 'NaN', 'Infinity'])
      assert.deepEqual(await found('above', '1e399'), ['1e400', 'NaN', 'Infinity'])
      assert.deepEqual(await found('from', '1e200000'), ['NaN', 'Infinity'])
      assert.deepEqual(await found('above', '1e200000'), ['NaN', 'Infinity'])
      assert.deepEqual(await found('to', '-1e200000'), ['-Infinity'])
      assert.deepEqual(await found('is', '1e-400'), ['1e-400'])
      assert.deepEqual(await found('is', '0.00e5'), ['0'])
      assert.deepEqual(await found('is', '1e-20000'), [])
      assert.deepEqual(await found('below', '1e-20000'), ['-1e400', '0', '-Infinity'])
      for (const shown of ['NaN', 'Infinity', '-Infinity', '1.50'])
        assert.deepEqual(await found('is', shown), [shown])
      assert.deepEqual(await found('is', '1200000000000000005.50'), ['1200000000000000005.5'])
      assert.deepEqual(await found('among', '1.5,1200000000000000005'), ['1200000000000000005', '1.50'])
    } else {
      assert.deepEqual(await found('above', '1200000000000000005.5'), [
        '1200000000000000006',
        '9e999',
        '1e300',
      ])
      assert.deepEqual(await found('from', '12000000000000000050e-1'), [
        '1200000000000000005',
        '1200000000000000006',
        '9e999',
        '1e300',
      ])
      assert.deepEqual(await found('is', '1200000000000000005.5'), [])
      assert.deepEqual(await found('from', '1e399'), ['9e999'])
      assert.deepEqual(await found('to', '-1e399'), ['-9e999'])
      assert.deepEqual(await found('is', '1e-400'), [])
      assert.deepEqual(await found('from', '1e-400').then((all) => all.includes('0')), false)
      assert.deepEqual(await found('is', 'Infinity'), ['9e999'])
      assert.deepEqual(await found('is', 'NaN'), [])
    }
  })

  test('numbers of eight bytes: infinities are beyond every number, and a tiny number is not 0', async () => {
    assert.deepEqual(await ids('/double', 'from', '1e999'), [0])
    assert.deepEqual(await ids('/double', 'above', '1e999'), [0])
    assert.deepEqual(await ids('/double', 'to', '-1e999'), [1])
    assert.deepEqual(await ids('/double', 'from', '1e-400'), [0, 2, 4])
    assert.deepEqual(await ids('/double', 'is', '1e-400'), [])
    assert.deepEqual(await ids('/double', 'is', '-0'), [3])
  })
})
