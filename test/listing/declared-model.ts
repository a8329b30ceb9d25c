// Compares a declared list with a plain evaluation in memory. A seed selects combinations of filter, type, order, place of nulls, key,
// page, strictness and row access. Rows are inserted, changed and deleted between the pages.
import assert from 'node:assert/strict'
import { type RawBuilder, sql } from 'kysely'
import { Problem } from '../../src/errors.ts'
import type { Principal } from '../../src/http/access/principal.ts'
import { list, type FilterKind, type List } from '../../src/listing/config.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { Presentation } from '../../src/listing/expansion.ts'
import { exportRows } from '../../src/listing/export.ts'
import type { FieldType } from '../../src/listing/field-types.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import type { Pages } from '../../src/listing/pages/pages.ts'
import { queriesOf, type Query } from '../../src/listing/query.ts'
import { querySchema } from '../../src/listing/schema.ts'
import { createListReader } from '../../src/listing/standby-reader.ts'
import type { Database } from '../../src/storage/database.ts'
import { Chance } from '../harness/chance.ts'
import { byBytes, pagesOf } from './model.ts'

type EngineName = Database['engine']
type Row = Readonly<Record<string, string | null>> & { id: string }
type Kind = FilterKind

type Values = readonly (string | readonly string[])[]

/** A column: its values in ascending order, as texts. Those in one array compare as equal. */
interface Column {
  type: FieldType
  /** The column's types and values, on SQLite and on PostgreSQL. */
  ddl: Record<EngineName, string>
  values: Record<EngineName, Values>
  kinds: readonly Kind[]
  /** Whether the database's own rule, such as a collation, orders the values. */
  own?: boolean
  /** The engine on which filters ignore case. */
  folds?: EngineName
  /** A value in a query string. Default: as it is. */
  asked?: (value: string, engine: EngineName) => string
  options?: object
}

const onEach = <T>(sqlite: T, postgres = sqlite): Record<EngineName, T> => ({ sqlite, postgres })
const column = (
  type: FieldType,
  ddl: Column['ddl'],
  values: Values | Record<EngineName, Values>,
  kinds: readonly Kind[] = usual,
  more: Partial<Column> = {},
): Column => ({ type, ddl, values: 'sqlite' in values ? values : onEach(values), kinds, ...more })

const usual: readonly Kind[] = ['equals', 'in', 'not', 'notIn', 'atLeast', 'above', 'atMost', 'below', 'null']
const parts: readonly Kind[] = ['prefix', 'iprefix', 'contains', 'icontains']
const [numeric, textual]: (readonly Kind[])[] = [
  [...usual, 'positiveWhenTrue'],
  [...usual, ...parts],
]
const texts = ['', 'a', 'A', 'ab', 'Ab', 'a-b', 'b', 'é', 'E', 'z', 'Z', '_', 'ß', '😀']
const byBytesOnly = ['', 'B', 'a', 'a%_', 'a,b', 'ab', 'abcd', 'é', '\uffee', '😀']
const asked = (value: string, engine: EngineName): string =>
  engine === 'postgres' ? `${value.replace(' ', 'T').replace('+00', '')}Z` : value
const times = ['000000', '000137', '000274', '5'].map((micros) => `2026-01-31 08:30:00.${micros}`)
const zoned = times.map((time) => `${time}+00`)
const canonical = times.slice(0, 3).map((time) => `${time.replace(' ', 'T')}Z`)
const json = [
  '{"a":{"b":"x"}}',
  '{"a":{"b":2}}',
  '{"a":{"b":null}}',
  '["x","y"]',
  '[]',
  '"x"',
  '{"a":{"b":"y"}}',
]
const exact = ['-3', '0', '0.1', '0.25', '12345678901234567', '12345678901234568']
const doubles = ['-Infinity', '-5e-324', '0', '0.3', '0.30000000000000004', '1e300', 'Infinity']
const uuids = ['00', '0a', 'ff'].map((start) => `${start}000000-0000-4000-8000-000000000000`)
const [text, words] = [onEach('text'), ['apple pie.', 'green pear', 'red', 'red apple', '']]
const own = true

const columns: Record<string, Column> = {
  text: column('text', onEach('text', 'text collate "C"'), byBytesOnly, textual),
  local: column('text', onEach('text collate nocase', 'text collate "en-x-icu"'), texts, textual, {
    own,
    folds: 'sqlite',
  }),
  folded: column('text', onEach('text collate rtrim', 'citext'), texts, textual, { own, folds: 'postgres' }),
  padded: column('text', onEach('text', 'char(3)'), ['', 'a', 'a ', ' a', 'A', 'b'], usual, { own }),
  words: column('text', text, words, ['search', 'null'], { own }),
  state: column(
    'enum',
    onEach('text', 'state'),
    onEach(['Off', 'done', 'open'], ['open', 'done', 'Off']),
    usual,
    {
      options: { values: ['open', 'done', 'Off'] },
    },
  ),
  fine: column('boolean', onEach('boolean'), ['0', '1'], [...usual, 'flag'], {
    asked: (value) => String(value === '1'),
  }),
  day: column('date', onEach('text', 'date'), ['0001-01-01', '2026-01-31', '9999-12-31']),
  at: column('timestamp', onEach('text', 'timestamptz'), zoned, usual, { asked }),
  zoneless: column('timestamp', onEach('text', 'timestamp'), times, usual, { asked }),
  clock: column('time', text, canonical),
  ms: column('milliseconds', onEach('bigint'), ['-1', '0', '1769848200000'], usual, {
    asked: (value) => new Date(Number(value)).toISOString(),
  }),
  small: column('integer', onEach('integer'), ['-7', '0', '1', '10'], numeric),
  big: column('bigint', onEach('bigint'), ['-5', '0', '9007199254740993', '9007199254740994'], numeric),
  number: column('number', onEach('real', 'double precision'), onEach(doubles, [...doubles, 'NaN']), numeric),
  real: column(
    'real',
    onEach('real'),
    ['-0.25', '0', ...[0.1, 1 / 3].map((n) => String(Math.fround(n))), '16777216'],
    numeric,
  ),
  exact: column(
    'numeric',
    onEach('numeric'),
    onEach<Values>(exact, ['-3', '0', ['0.1', '0.10'], '0.1000000000000000000001', ...exact.slice(3)]),
    numeric,
  ),
  uid: column('uuid', onEach('text', 'uuid'), uuids),
  extra: column('json', onEach('text', 'jsonb'), json, ['has', 'null'], { own }),
  member: column('json', onEach('text', 'jsonb'), json, ['equals', 'in', 'not', 'notIn', 'null'], { own }),
}
const names = Object.keys(columns)
const sortable = names.filter((name) => columns[name]!.type !== 'json')
/** Filters of one group: a row must pass one of them. */
const group = ['text_equals', 'small_atLeast']

/** Unique columns, whose values are computed from the id. */
const mixed = (id: number): number => (id * 37) % 2003
interface KeyColumn extends Pick<Column, 'type' | 'ddl'> {
  of: (id: number) => string
  isNumber: boolean
}
const keyColumn = (type: FieldType, ddl: Column['ddl'], of: KeyColumn['of']): KeyColumn => ({
  type,
  ddl,
  of,
  isNumber: type === 'integer' || type === 'bigint',
})
const keyColumns: Record<string, KeyColumn> = {
  id: keyColumn('integer', onEach('integer', 'int'), String),
  code: keyColumn('text', onEach('text', 'text collate "C"'), (id) => `${'aB_é'[id % 4]}${id}`),
  token: keyColumn(
    'uuid',
    onEach('text', 'uuid'),
    (id) => `${mixed(id).toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`,
  ),
  serial: keyColumn('bigint', onEach('bigint'), (id) => String(9_007_199_254_740_993n + BigInt(mixed(id)))),
  part: keyColumn('text', onEach('text', 'text collate "C"'), (id) => ['', 'b', 'é'][id % 3]!),
  nth: keyColumn('integer', onEach('int'), (id) => String(Math.floor(id / 3))),
}
const keys = {
  id: ['id'],
  code: ['code'],
  token: ['token'],
  serial: ['serial'],
  pair: ['part', 'nth'],
} as const
const accesses: Record<string, { where: List['where']; sees: (owner: string | null) => boolean }> = {
  all: { where: undefined, sees: () => true },
  own: { where: ({ user }) => ({ owner: user?.id }), sees: (owner) => owner === 'ada' },
  several: { where: () => ({ owner: ['ada', 'bob'] }), sees: (owner) => owner !== null },
  unowned: { where: () => ({ owner: null }), sees: (owner) => owner === null },
  none: { where: () => false, sees: () => false },
}
const dimensions = {
  kind: [...new Set(names.flatMap((name) => columns[name]!.kinds)), 'either', 'no'] as const,
  column: names,
  sort: ['default', 'up', 'down', 'two', 'mixed'] as const,
  nulls: ['engine', 'first', 'last', 'varied'] as const,
  key: ['id', 'code', 'token', 'serial', 'pair'] as const,
  page: ['forward', 'backward', 'offset', 'keyset', 'export'] as const,
  strict: ['yes', 'no'] as const,
  access: ['all', 'own', 'several', 'unowned', 'none'] as const,
  fault: ['none', 'value', 'parameter'] as const,
}
type Dimension = keyof typeof dimensions
export type Combination = { [Name in Dimension]: (typeof dimensions)[Name][number] }

function randomCombination(chance: Chance): Combination {
  const one = Object.fromEntries(
    Object.entries(dimensions).map(([name, values]) => [name, chance.pick(values as readonly string[])]),
  ) as Combination
  const kinds = [...columns[one.column]!.kinds, 'either', 'no'] as const
  // Faults are rare, because a case with a fault tests nothing else.
  const fault = chance.is(0.85) ? 'none' : one.fault
  return { ...one, fault, kind: kinds.includes(one.kind) ? one.kind : chance.pick(kinds) }
}

const pairsOf = (one: Combination): string[] => {
  const parts = Object.entries(one).map(([name, value]) => `${name} ${value}`)
  return parts.flatMap((part, index) => parts.slice(index + 1).map((other) => `${part}, ${other}`))
}

/** Combinations that cover each possible pair of two dimensions' values. Of some random ones, it picks the one with the most new pairs. */
export function allPairs(seed: number): Combination[] {
  const chance = new Chance(seed)
  const missing = new Set(Array.from({ length: 60_000 }, () => pairsOf(randomCombination(chance))).flat())
  const chosen: Combination[] = []
  while (missing.size > 0) {
    let best: { one: Combination; fresh: string[] } | undefined
    for (let tries = 0; tries < 60; tries += 1) {
      const one = randomCombination(chance)
      const fresh = pairsOf(one).filter((pair) => missing.has(pair))
      if (fresh.length > (best?.fresh.length ?? 0)) best = { one, fresh }
    }
    if (!best) continue
    chosen.push(best.one)
    for (const pair of best.fresh) missing.delete(pair)
  }
  return chosen
}

/** A filter with its texts, as requested. */
interface Asked {
  name: string
  column: string
  kind: Kind
  texts: readonly string[]
}
const lower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
const upper = (text: string): string => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
const memberOf = (text: string | null): string | null => {
  const { a } = (text === null ? {} : Object(JSON.parse(text))) as { a?: { b?: string | number | null } }
  return a?.b === undefined || a.b === null ? null : String(a.b)
}

export class DeclaredModel {
  readonly #database: Database
  readonly #pages: Pages
  readonly #ranks = new Map<string, ReadonlyMap<string, number>>()
  readonly #lists = new Map<string, { declaration: ListDeclaration; read: ReturnType<typeof queriesOf> }>()
  #fields: ListDeclaration['fields'] = {}
  #rows = new Map<string, Row>()

  private constructor(database: Database) {
    this.#database = database
    this.#pages = pagesOf(database)
  }

  /** Creates the table. */
  static async on(database: Database): Promise<DeclaredModel> {
    const { engine } = database
    const model = new DeclaredModel(database)
    const of = [...Object.entries(keyColumns), ...Object.entries(columns)].map(
      ([name, { ddl }]) => `${name} ${ddl[engine]}${name in keyColumns ? ' not null' : ''}`,
    )
    const indexed = Object.values(keys).map(
      (key) => `create unique index on_${key.join('_')} on things (${key.join(', ')})`,
    )
    const mirrored = (table: string, column: string, tokenizer = ''): string[] => [
      `create virtual table ${table} using fts5(${column}, content=things, content_rowid=id${tokenizer})`,
      `create trigger ${table}_i after insert on things begin insert into ${table}(rowid, ${column}) values (new.id, new.${column}); end`,
      `create trigger ${table}_d after delete on things begin
        insert into ${table}(${table}, rowid, ${column}) values ('delete', old.id, old.${column}); end`,
    ]
    await model.#run(
      ...(engine === 'postgres'
        ? ['create extension citext', `create type state as enum ('open', 'done', 'Off')`]
        : []),
      `create table things (${of.join(', ')}, owner text, primary key (id))`,
      ...indexed,
      ...(engine === 'sqlite'
        ? [
            ...mirrored('things_search', 'words'),
            ...mirrored('things_trigrams', 'text', `, tokenize='trigram'`),
          ]
        : []),
    )
    const checked = await checkList(database, readLists({ lists: [model.#options(model.plain)] })[0]!)
    assert.deepEqual(checked.faults, [])
    model.#fields = checked.list.fields
    for (const [name, column] of Object.entries(columns)) await model.#rank(name, column)
    return model
  }

  readonly plain: Combination = {
    kind: 'no',
    column: 'text',
    sort: 'default',
    nulls: 'engine',
    key: 'id',
    page: 'forward',
    strict: 'yes',
    access: 'all',
    fault: 'none',
  }

  /** @throws AssertionError that says how to run the case again */
  async check(one: Combination, seed: number, index: number): Promise<void> {
    const chance = new Chance(seed * 1_000_003 + index)
    try {
      await this.#check(one, chance)
    } catch (error) {
      const message = `${this.#database.engine} --seed ${seed} --only ${index} ${JSON.stringify(one)}: ${(error as Error).message}`
      throw new Error(message, { cause: error })
    }
  }

  async #check(one: Combination, chance: Chance): Promise<void> {
    const isLong = one.page === 'export' && chance.is(0.1)
    this.#rows.clear()
    const rows = Array.from({ length: isLong ? 1_100 : chance.below(40) }, (_, id) =>
      this.#row(chance, isLong ? id : chance.below(61)),
    )
    await this.#write([], [...new Map(rows.map((row) => [row.id, row])).values()], true)
    const asked = this.#askedBy(one, chance)
    const limit = 1 + chance.below(6)
    const { declaration, read } = this.#listOf(one)
    const caller: Principal = { kind: 'session', role: 'user', userId: 'ada' }
    const order = this.#orderOf(one, chance)
    const query = (more: Record<string, string> = {}): Query => {
      const parameters = new URLSearchParams({
        limit: String(limit),
        ...(order.sort !== undefined && { sort: order.sort }),
        ...more,
      })
      for (const { name, kind, texts } of asked) {
        const isList = kind === 'in' || kind === 'notIn'
        for (const text of texts) parameters.append(isList ? `${name}[]` : name, text)
      }
      if (one.fault === 'parameter') parameters.append('stauts', 'open')
      return read({ url: `${declaration.path}?${parameters.toString()}`, caller })
    }
    const isWrong = one.fault === 'parameter' || asked.some(isUnreadable)
    if (isWrong && one.strict === 'yes') {
      assert.throws(
        () => query(),
        (error) => error instanceof Problem && error.code === 'invalid-parameter',
      )
      return
    }
    const passes = this.#passing(one, asked)
    const expected = (): Row[] => [...this.#rows.values()].filter(passes).toSorted(order.compare)
    const walk = { query, expected, limit, compare: order.compare, chance }
    if (one.page === 'offset') await this.#byNumber(walk)
    else if (one.page === 'keyset') await this.#byKeyset(walk)
    else if (one.page === 'export') await this.#exported(walk)
    else await this.#byCursor(walk, one.page === 'backward')
  }

  async #byCursor({ query, expected, limit, compare, chance }: Walk, backward: boolean): Promise<void> {
    let place: { at: Row | undefined; back: boolean; cursor: string } | undefined
    for (let step = 0; step < 40; step += 1) {
      const page = await this.#pages.byCursor(query(place && { cursor: place.cursor }))
      const all = expected()
      const rest = all.filter(
        (row) => !place?.at || (place.back ? compare(row, place.at) < 0 : compare(row, place.at) > 0),
      )
      const wanted = place?.back ? rest.slice(-limit) : rest.slice(0, limit)
      assert.deepEqual(idsOf(page.rows), each(wanted), `page ${step}`)
      const more = rest.length > limit
      // A page next to a row links back, even if its own rows were deleted.
      const origin = place?.at !== undefined && all.length > 0
      assert.equal(page.nextCursor !== null, place?.back ? origin : more, 'a next page')
      assert.equal(page.previousCursor !== null, place?.back ? more : origin, 'a previous page')
      const turns = backward && (step >= 3 || page.nextCursor === null)
      const cursor = turns ? page.previousCursor : page.nextCursor
      if (cursor === null) return
      place = { cursor, back: turns, at: turns ? wanted[0] : wanted.at(-1) }
      await this.#change(chance)
    }
  }

  async #byNumber({ query, expected, limit, chance }: Walk): Promise<void> {
    for (let number = 1; number < 9; number += 1) {
      const page = await this.#pages.byOffset(query({ page: String(number) }))
      const all = expected()
      assert.deepEqual(
        idsOf(page.rows),
        each(all.slice((number - 1) * limit, number * limit)),
        `page ${number}`,
      )
      assert.deepEqual([page.total, page.hasNext], [all.length, all.length > number * limit])
      await this.#change(chance)
    }
  }

  async #byKeyset({ query, expected, limit, compare, chance }: Walk): Promise<void> {
    let place: { at: Row; cursor: string } | undefined
    for (;;) {
      const page = await this.#pages.byKeyset(query(place && { cursor: place.cursor }))
      const rest = expected().filter((row) => !place || compare(row, place.at) > 0)
      assert.deepEqual(idsOf(page.rows), each(rest.slice(0, limit)))
      assert.equal(page.nextCursor !== null, rest.length > limit)
      if (page.nextCursor === null) return
      place = { at: rest[limit - 1]!, cursor: String(page.nextCursor) }
      await this.#change(chance)
    }
  }

  /** A row that did not change in the meantime occurs once, in order; another one at most twice. */
  async #exported({ query, expected, chance }: Walk): Promise<void> {
    const presentation = new Presentation(this.#database.engine, createListReader(this.#database))
    const signal = new AbortController().signal
    const [before, found, touched] = [each(expected()), [] as number[], new Set<number>()]
    for await (const text of exportRows(query(), 'ndjson', { pages: this.#pages, presentation }, signal)) {
      found.push(
        ...text
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { id: number }).id),
      )
      for (const id of await this.#change(chance, 30)) touched.add(Number(id))
    }
    const untouched = (ids: readonly number[]): number[] => ids.filter((id) => !touched.has(id))
    assert.deepEqual(untouched(found), untouched(before))
    assert.ok(found.length <= before.length + touched.size)
  }

  #listOf(one: Combination) {
    const isKeyset = one.page === 'keyset'
    const name = [
      one.nulls,
      one.key,
      isKeyset && one.sort === 'down',
      isKeyset,
      one.strict,
      one.access,
    ].join()
    let known = this.#lists.get(name)
    if (!known) {
      const declaration = { ...readLists({ lists: [this.#options(one)] })[0]!, fields: this.#fields }
      known = { declaration, read: queriesOf(declaration, Object.keys(querySchema(declaration).properties)) }
      this.#lists.set(name, known)
    }
    return known
  }

  #options({ nulls, key, page, strict, access, sort }: Combination): List {
    const isKeyset = page === 'keyset'
    const { where } = accesses[access]!
    const fields = Object.fromEntries([
      ...Object.entries(keyColumns).map(([name, { type }]) => [name, { type }]),
      ...Object.entries(columns).map(([name, { type, options }]) => [name, { type, ...options }]),
      ['owner', { type: 'text', hidden: true }],
    ]) as List['fields']
    const filters = names.flatMap((name) =>
      columns[name]!.kinds.map((kind) => [
        `${name}_${kind}`,
        {
          kind,
          field: name,
          ...(name === 'member' && { member: 'a.b' }),
          ...(name === 'text' && kind.endsWith('contains') && { index: 'things_trigrams' }),
        },
      ]),
    )
    return list({
      path: '/things',
      table: 'things',
      fields,
      key: keys[key],
      filters: Object.fromEntries(filters) as NonNullable<List['filters']>,
      or: { either: group },
      strict: strict === 'yes',
      pages: isKeyset ? ['keyset'] : ['cursor', 'offset'],
      sort: isKeyset
        ? []
        : sortable.map((field) => {
            const place = placeOf(nulls, field)
            return place === 'engine' ? field : { field, nulls: place }
          }),
      order: isKeyset ? keys[key].map((name) => (sort === 'down' ? `-${name}` : name)) : ['text', '-small'],
      ...(where && { where }),
    })
  }

  /** A combination's order: as the parameter `sort`, if it has one, and as the model's comparison. */
  #orderOf({ sort, page, column, key, nulls }: Combination, chance: Chance) {
    const first = sortable.includes(column) ? column : chance.pick(sortable)
    const second = chance.pick(sortable)
    const sorts = {
      default: ['text', '-small'],
      up: [first],
      down: [`-${first}`],
      two: [`-${first}`, `-${second}`],
      mixed: [first, `-${second}`],
    }
    const asked =
      page === 'keyset' ? keys[key].map((name) => (sort === 'down' ? `-${name}` : name)) : sorts[sort]
    const nameOf = (text: string): string => text.replace(/^-/, '')
    const terms = asked.filter(
      (text, index) => asked.findIndex((other) => nameOf(other) === nameOf(text)) === index,
    )
    const sign = terms.at(-1)!.startsWith('-') ? '-' : ''
    const rest = keys[key]
      .filter((name) => !terms.some((text) => nameOf(text) === name))
      .map((name) => sign + name)
    const byDefault = (descending: boolean) =>
      (this.#database.engine === 'postgres') !== descending ? 'last' : 'first'
    const compare = (x: Row, y: Row): number => {
      for (const term of [...terms, ...rest]) {
        const [name, descending] = [nameOf(term), term.startsWith('-')]
        const [p, q] = [x[name]!, y[name]!]
        if (p === null || q === null) {
          if (p === q) continue
          const declared = placeOf(nulls, name)
          const place = declared === 'engine' ? byDefault(descending) : declared
          return (p === null) === (place === 'first') ? -1 : 1
        }
        const difference = this.#compare(name, p, q)
        if (difference !== 0) return descending ? -difference : difference
      }
      return 0
    }
    return { sort: page === 'keyset' || sort === 'default' ? undefined : asked.join(','), compare }
  }

  #compare(name: string, one: string, other: string): number {
    const ranks = this.#ranks.get(name)
    if (ranks) return ranks.get(one)! - ranks.get(other)!
    return keyColumns[name]!.isNumber ? Number(BigInt(one) - BigInt(other)) : byBytes(one, other)
  }

  #askedBy({ kind, column, fault }: Combination, chance: Chance): Asked[] {
    const asked: Asked[] = []
    const ask = (column: string, kind: Kind, wrong = false): void => {
      if (asked.some(({ name }) => name === `${column}_${kind}`)) return
      asked.push({
        name: `${column}_${kind}`,
        column,
        kind,
        texts: wrong ? [wrongText(column, kind)] : this.#texts(column, kind, chance),
      })
    }
    if (kind === 'either') for (const name of group) ask(...(name.split('_') as [string, Kind]))
    else if (kind !== 'no') ask(column, kind, fault === 'value')
    else if (fault === 'value') ask('small', 'equals', true)
    for (let more = chance.below(3); more > 0; more -= 1) {
      const other = chance.pick(names)
      if (chance.is(0.5)) ask(other, chance.pick(columns[other]!.kinds))
    }
    return asked
  }

  #texts(column: string, kind: Kind, chance: Chance): string[] {
    if (kind === 'null' || kind === 'flag' || kind === 'positiveWhenTrue')
      return [chance.pick(['true', 'false'])]
    if (kind === 'search') return [chance.pick(['red', 'apple red', 'PEAR', 'zzz', '!', ' '])]
    if (column === 'extra' || column === 'member') return [chance.pick(['x', 'y', '2', 'zzz'])]
    const { values, asked = (value: string) => value } = columns[column]!
    const { engine } = this.#database
    const pool = values[engine].flat().filter((value) => !/Infinity|NaN/.test(value))
    const value = (): string => asked(chance.pick(pool), engine)
    if (kind === 'in' || kind === 'notIn') return Array.from({ length: 1 + chance.below(3) }, value)
    const text = value()
    if (!parts.includes(kind)) return [text]
    const part = chance.is(0.5)
      ? text
      : Array.from(text)
          .slice(0, 1 + chance.below(3))
          .join('')
    return [kind.startsWith('i') && chance.is(0.5) ? upper(part) : part]
  }

  #passing({ access }: Combination, asked: readonly Asked[]): (row: Row) => boolean {
    const effects = asked.flatMap((one) => {
      const passes = this.#effectOf(one)
      return passes ? [{ passes, isGrouped: group.includes(one.name) }] : []
    })
    const [grouped, others] = [
      effects.filter(({ isGrouped }) => isGrouped),
      effects.filter(({ isGrouped }) => !isGrouped),
    ]
    const { sees } = accesses[access]!
    return (row) =>
      sees(row['owner']!) &&
      others.every(({ passes }) => passes(row)) &&
      (grouped.length === 0 || grouped.some(({ passes }) => passes(row)))
  }

  /** The condition of a filter; `undefined` if it has no effect. */
  #effectOf({ column, kind, texts }: Asked): ((row: Row) => boolean) | undefined {
    const { asked = (value: string) => value, values, folds, type } = columns[column]!
    const { engine } = this.#database
    const [text = ''] = texts
    if (isUnreadable({ column, kind, texts })) {
      if (kind.startsWith('not')) return () => true
      return ['equals', 'in', 'has', 'search', ...parts].includes(kind) ? () => false : undefined
    }
    const valueOf = (row: Row): string | null => (column === 'member' ? memberOf(row[column]!) : row[column]!)
    if (kind === 'null') return (row) => (valueOf(row) === null) === (text === 'true')
    if (kind === 'has')
      return (row) => {
        const value: unknown = JSON.parse(row[column] ?? 'null')
        return Array.isArray(value) && value.includes(text)
      }
    if (kind === 'search') {
      const words = lower(text).match(/\w+/g)
      if (!words) return undefined
      return (row) => words.every((word) => (row[column] ?? '').match(/\w+/g)?.includes(word))
    }
    const pool = values[engine].flat()
    const ranks = this.#ranks.get(column)!
    if (kind === 'positiveWhenTrue')
      return text === 'true'
        ? (row) => row[column] !== null && ranks.get(row[column]!)! > ranks.get('0')!
        : undefined
    if (parts.includes(kind)) {
      if (text === '') return undefined
      const fold = kind.startsWith('i') || folds === engine ? lower : (value: string) => value
      const isStart = kind.endsWith('prefix')
      return (row) =>
        row[column] !== null &&
        (isStart ? fold(row[column]!).startsWith(fold(text)) : fold(row[column]!).includes(fold(text)))
    }
    // A member is compared as text.
    const wanted =
      type === 'json'
        ? []
        : texts.map((one) => ranks.get(pool.find((value) => asked(value, engine) === one)!)!)
    const isOne = (row: Row): boolean => {
      const value = valueOf(row)
      if (value === null) return false
      return type === 'json' ? texts.includes(value) : wanted.includes(ranks.get(value)!)
    }
    if (kind.startsWith('not')) return (row) => !isOne(row)
    if (kind === 'equals' || kind === 'in' || kind === 'flag') return isOne
    const bound = {
      atLeast: (n: number) => n >= 0,
      above: (n: number) => n > 0,
      atMost: (n: number) => n <= 0,
      below: (n: number) => n < 0,
    }
    return (row) =>
      row[column] !== null && bound[kind as keyof typeof bound](ranks.get(row[column]!)! - wanted[0]!)
  }

  #row(chance: Chance, id: number): Row {
    const { engine } = this.#database
    return {
      ...Object.fromEntries(Object.entries(keyColumns).map(([name, { of }]) => [name, of(id)])),
      ...Object.fromEntries(
        Object.entries(columns).map(([name, { values }]) => [
          name,
          chance.is(0.25) ? null : chance.pick(values[engine].flat()),
        ]),
      ),
      owner: chance.pick([null, 'ada', 'ada', 'bob']),
      id: String(id),
    }
  }

  /** Deletes, replaces and inserts rows by another connection, or does nothing. Returns their ids. */
  async #change(chance: Chance, most = 4): Promise<string[]> {
    if (chance.is(0.3)) return []
    const range = Math.max(61, this.#rows.size)
    const remove = Array.from({ length: chance.below(most) }, () => String(chance.below(range)))
    const put = Array.from({ length: chance.below(most) }, () => this.#row(chance, chance.below(range)))
    await this.#write(remove, [...new Map(put.map((row) => [row.id, row])).values()])
    return [...remove, ...put.map(({ id }) => id)]
  }

  async #write(remove: readonly string[], put: readonly Row[], all = false): Promise<void> {
    const gone = [...remove, ...put.map(({ id }) => id)].map(Number)
    await this.#database.transaction(async (tx) => {
      if (all) await sql`delete from things`.execute(tx)
      else if (gone.length > 0) await sql`delete from things where id in (${sql.join(gone)})`.execute(tx)
      for (let at = 0; at < put.length; at += 500) await this.#insert(put.slice(at, at + 500)).execute(tx)
    })
    for (const id of gone) this.#rows.delete(String(id))
    for (const row of put) this.#rows.set(row.id, row)
  }

  #insert(rows: readonly Row[]): RawBuilder<unknown> {
    const all = [...Object.keys(keyColumns), ...names, 'owner']
    const stored = (name: string, value: string | null) =>
      // SQLite would not read these as numbers from text.
      value !== null && (name === 'number' || name === 'real' || name === 'id') ? Number(value) : value
    const tuples = rows.map((row) => sql`(${sql.join(all.map((name) => stored(name, row[name]!)))})`)
    return sql`insert into things (${sql.join(all.map((name) => sql.ref(name)))}) values ${sql.join(tuples)}`
  }

  async #rank(name: string, { own, values }: Column): Promise<void> {
    const groups = values[this.#database.engine]
    if (!own)
      return void this.#ranks.set(
        name,
        new Map(groups.flatMap((group, rank) => [group].flat().map((value) => [value, rank]))),
      )
    const chance = new Chance(1)
    const pool = groups.flat()
    await this.#write(
      [],
      pool.map((value, id) => ({ ...this.#row(chance, id), [name]: value })),
      true,
    )
    const { rows } = await sql<{
      id: unknown
      rank: unknown
    }>`select id, dense_rank() over (order by ${sql.ref(name)}) as rank
      from things order by id`.execute(this.#database.reader)
    this.#ranks.set(name, new Map(rows.map(({ id, rank }) => [pool[Number(id)]!, Number(rank)])))
  }

  async #run(...statements: string[]): Promise<void> {
    for (const statement of statements)
      await this.#database.transaction((tx) => sql.raw(statement).execute(tx))
  }
}

/** Where a field's nulls come: `varied` is another place for each field. */
function placeOf(nulls: Combination['nulls'], field: string): 'engine' | 'first' | 'last' {
  return nulls === 'varied' ? (['engine', 'first', 'last'] as const)[sortable.indexOf(field) % 3]! : nulls
}

interface Walk {
  query: (more?: Record<string, string>) => Query
  /** All rows that pass now, in order. */
  expected: () => Row[]
  limit: number
  compare: (x: Row, y: Row) => number
  chance: Chance
}

/** A text that a filter cannot read. */
function wrongText(column: string, kind: Kind): string {
  if (['null', 'flag', 'positiveWhenTrue'].includes(kind)) return 'perhaps'
  return ['text', 'json'].includes(columns[column]!.type) ? '\0' : 'x'
}

const isUnreadable = ({ column, kind, texts }: Omit<Asked, 'name'>): boolean =>
  texts[0] === wrongText(column, kind) || (kind === 'search' && texts[0] === '!')

const each = (rows: readonly Row[]): number[] => rows.map(({ id }) => Number(id))
const idsOf = (rows: readonly (readonly unknown[])[]): number[] => rows.map(([id]) => Number(id))

/** Compares all pairs, or `count` random combinations. @param only the index of the one to compare */
export async function compareLists(
  database: Database,
  { seed, count, only }: { seed: number; count: number; only?: number | undefined },
): Promise<number> {
  const model = await DeclaredModel.on(database)
  const chance = new Chance(seed)
  const combinations = Array.from({ length: count }, () => randomCombination(chance))
  const indexes = only === undefined ? combinations.keys() : [only]
  for (const index of indexes) await model.check(combinations[index]!, seed, index)
  return combinations.length
}
