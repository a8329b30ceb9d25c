// Items with the rows of another table that name them: bounded for each item, and by one statement for all of a page.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { Presentation } from '../../src/listing/expansion.ts'
import { createListReader } from '../../src/listing/standby-reader.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const carts = list({
  path: '/carts',
  table: 'carts',
  access: 'public',
  fields: { id: { type: 'uuid' }, parent: { type: 'bigint', nullable: true } },
  key: 'id',
  limit: { default: 20, max: 400 },
  expand: {
    lines: {
      table: 'lines',
      from: 'id',
      key: 'cart',
      fields: {
        position: { type: 'bigint' },
        price: { type: 'numeric' },
        at: { type: 'timestamp', nullable: true },
        secret: { type: 'text', hidden: true },
      },
      many: { order: ['-position'], limit: 3 },
    },
    notes: {
      table: 'notes',
      from: 'parent',
      key: 'of',
      fields: { text: { type: 'text' }, number: { type: 'integer' } },
      many: { order: ['text', 'number'] },
    },
  },
  exports: true,
})

const cartId = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
const count = 300

onEachEngine('an expansion to many', (engine) => {
  const opened = listService(engine, [carts], async (database, run) => {
    const [uuid, time] = engine.name === 'postgres' ? ['uuid', 'timestamptz'] : ['text', 'text']
    await run(
      `create table carts (id ${uuid} primary key, parent bigint)`,
      `create table lines (cart ${uuid} not null, position bigint not null, price numeric not null, at ${time}, secret text, primary key (cart, position))`,
      `create table notes (of bigint not null, text text not null, number integer primary key)`,
    )
    await database.transaction(async (tx) => {
      // In three statements: one for each row takes longer on a busy machine than a transaction may.
      const numbers = Array.from({ length: count }, (_, number) => number)
      const cartRows = numbers.map(
        (number) => sql`(${cartId(number)}, ${number % 3 === 0 ? null : number % 5})`,
      )
      await sql`insert into carts values ${sql.join(cartRows)}`.execute(tx)
      // Cart n has n % 6 lines.
      const lineRows = numbers.flatMap((number) =>
        Array.from(
          { length: number % 6 },
          (_, position) =>
            sql`(${cartId(number)}, ${position}, ${position + 0.5}, '2026-01-31 08:30:00.000137+00', 'x')`,
        ),
      )
      await sql`insert into lines values ${sql.join(lineRows)}`.execute(tx)
      const noteRows = Array.from(
        { length: 60 },
        (_, number) => sql`(${number % 2 === 0 ? 1 : 4}, ${`n${number % 7}`}, ${number})`,
      )
      await sql`insert into notes values ${sql.join(noteRows)}`.execute(tx)
    })
  })

  type Many<T> = { data: T[]; hasMore: boolean }
  type Cart = {
    id: string
    parent: string | null
    lines: Many<object>
    notes: Many<{ number: number; text: string }>
  }
  const items = async (query: string): Promise<Cart[]> =>
    (await readList(opened.service, `/carts?${query}`)).data as unknown as Cart[]

  test('each item has its first rows in order, and hasMore', async () => {
    const all = await items('expand=lines,notes&limit=400')
    assert.equal(all.length, count)
    for (const [number, { lines, notes, parent }] of all.entries()) {
      const own = Array.from({ length: number % 6 }, (_, position) => ({
        position: String(position),
        price: String(position + 0.5),
        at: '2026-01-31T08:30:00.000137Z',
      })).toReversed()
      assert.deepEqual(lines, { data: own.slice(0, 3), hasMore: own.length > 3 })
      const noted = parent === '1' || parent === '4'
      assert.equal(notes.data.length, noted ? 20 : 0)
      assert.equal(notes.hasMore, noted)
      const order = notes.data.map(({ text, number }) => `${text} ${String(number).padStart(2, '0')}`)
      assert.deepEqual(order, order.toSorted())
    }
    assert.ok(!('lines' in (await items('expand=notes'))[0]!))
    assert.deepEqual(Object.keys((await items('fields=parent&expand=lines'))[0]!), ['parent', 'lines'])
  })

  test('a page takes one statement for each expansion, or a few if it is long', async () => {
    const { list: declared } = await checkList(opened.service.database, readLists({ lists: [carts] })[0]!)
    const reader = createListReader(opened.service.database)
    let statements = 0
    const counting: typeof reader = {
      ...reader,
      read(...parts) {
        statements += 1
        return reader.read(...parts)
      },
    }
    const presentation = new Presentation(engine.name, counting)
    for (const [size, expected] of [
      [20, 1],
      [128, 1],
      [300, 3],
    ] as const) {
      statements = 0
      const rows = Array.from({ length: size }, (_, number) => [cartId(number), null])
      const columns = ['id', 'parent']
      await presentation.of(
        { list: declared, shown: columns, expand: declared.expand.slice(0, 1), columns } as never,
        rows,
      )
      assert.equal(statements, expected)
    }
  })

  test('exports have expansions, too', async () => {
    const lines = (await (await opened.service.fetch('/carts.ndjson?expand=lines')).text())
      .trimEnd()
      .split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      await items('expand=lines&limit=400'),
    )
    const csv = await (await opened.service.fetch('/carts.csv?expand=lines&fields=parent')).text()
    assert.match(csv, /^parent,lines\r\n,"\{""data"":\[\],""hasMore"":false\}"\r\n/)
  })

  test('a missing index is advised', async () => {
    const { missing, faults } = await checkList(opened.service.database, readLists({ lists: [carts] })[0]!)
    assert.deepEqual(faults, [])
    const explained = await explainList(
      opened.service.database,
      (await checkList(opened.service.database, readLists({ lists: [carts] })[0]!)).list,
    )
    const steps = (query: string): string => explained.find((one) => one.query === query)!.steps.join('; ')
    assert.match(steps('expand=lines'), /lines_pkey|sqlite_autoindex_lines_1/)
    assert.doesNotMatch(steps('expand=lines'), /SCAN lines|TEMP B-TREE|Seq Scan/)
    const how = engine.name === 'postgres' ? 'create index concurrently' : 'create index'
    assert.deepEqual(
      missing.filter(({ queries }) => queries[0]!.startsWith('expand=')),
      [
        {
          queries: ['expand=notes'],
          statement: `${how} "notes_by_of_text_number" on "notes" ("of", "text", "number");`,
        },
      ],
    )
  })
})
