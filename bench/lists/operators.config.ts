// The operators of declared lists, each beside the statement that somebody would write by hand for the same rows and the same indexes.
import { sql } from 'kysely'
import { defineConfig, list } from '../../src/index.ts'
import { memberColumn } from '../../src/listing/filters.ts'
import type { Database } from '../../src/storage/database.ts'
import type { EngineName } from '../harness/databases.ts'
import { fill } from '../harness/fill.ts'
import type { ListRequests } from './requests.ts'

const path = '/articles'
/** As in `/products`. */
const limit = 100

export default defineConfig({
  listing: {
    lists: [
      list({
        path,
        table: 'articles',
        access: 'public',
        fields: {
          id: { type: 'integer' },
          title: { type: 'text' },
          status: { type: 'text' },
          number: { type: 'integer' },
          tags: { type: 'json', hidden: true },
          data: { type: 'json', hidden: true },
        },
        key: 'id',
        limit: { default: limit },
        filters: {
          contains: { kind: 'contains', field: 'title', index: 'articles_trigrams' },
          icontains: { kind: 'icontains', field: 'title', index: 'articles_trigrams' },
          iprefix: { kind: 'iprefix', field: 'title' },
          not: { kind: 'not', field: 'status' },
          notIn: { kind: 'notIn', field: 'status' },
          has: { kind: 'has', field: 'tags' },
          member: { kind: 'equals', field: 'data', member: 'colour' },
          status: { kind: 'equals', field: 'status' },
          least: { kind: 'atLeast', field: 'number' },
        },
        or: { either: ['status', 'least'] },
      }),
    ],
  },
})

const statuses = ['draft', 'open', 'sold', 'gone', 'lost']
const status = (number: number): string => statuses[number % statuses.length]!
/** Three hexadecimal digits: part of about one title in 700. */
const part = (number: number): string => (256 + number * 7).toString(16)

interface Operator {
  name: string
  /** The values of a request's parameters, and those of the statement. */
  request: (number: number) => { parameters: Record<string, string>; values: readonly string[] }
  /** By hand. */
  where: Record<EngineName, string>
}

const one = (name: string, valueOf: (number: number) => string): Pick<Operator, 'name' | 'request'> => ({
  name,
  request: (number) => ({ parameters: { [name]: valueOf(number) }, values: [valueOf(number)] }),
})
const both = (where: string): Operator['where'] => ({ sqlite: where, postgres: where })
const inTrigrams = `rowid in (select rowid from articles_trigrams where title match '"' || $1 || '"')`
const lowered = 'lower(title) >= lower($1) and lower(title) < lower($1) || char(1114111)'

const operators: readonly Operator[] = [
  {
    ...one('contains', part),
    where: {
      sqlite: `${inTrigrams} and instr(title, $1) > 0`,
      postgres: `title like '%' || $1::text || '%'`,
    },
  },
  {
    ...one('icontains', (number) => part(number).toUpperCase()),
    where: { sqlite: inTrigrams, postgres: `title ilike '%' || $1::text || '%'` },
  },
  {
    ...one('iprefix', (number) => `ARTICLE ${part(number).slice(0, 2)}`),
    where: {
      sqlite: lowered,
      postgres: `lower(title) collate "C" >= lower($1) and lower(title) collate "C" < lower($1) || chr(1114111)`,
    },
  },
  { ...one('not', status), where: both('status is distinct from $1') },
  {
    name: 'notIn',
    request: (number) => {
      const values = [status(number), status(number + 1)]
      return { parameters: { notIn: values.join(',') }, values }
    },
    where: both('(status is null or status not in ($1, $2))'),
  },
  {
    ...one('has', (number) => `t${number}`),
    where: {
      sqlite: 'exists (select 1 from json_each(tags) where value = $1)',
      postgres: 'tags @> array[$1]',
    },
  },
  {
    ...one('member', (number) => `c${number}`),
    where: { sqlite: `data ->> '$.colour' = $1`, postgres: `data ->> 'colour' = $1` },
  },
  {
    name: 'or',
    request: (number) => {
      const values = [status(number), String(900 + number)]
      return { parameters: { status: values[0]!, least: values[1]! }, values }
    },
    where: both('(status = $1 or number >= $2)'),
  },
]

/** The lists of the bare handlers, by path. */
export function bareOperators(engine: EngineName) {
  const statementOf = ({ where, request }: Operator) => {
    const statement = `select id, title, status, number from articles where ${where[engine]} order by id limit ${limit + 1}`
    return {
      sql: engine === 'sqlite' ? statement.replaceAll(/\$(\d)/g, '?$1') : statement,
      values: (query: (name: string) => string | null) =>
        request(0).values.map((_, index) => query(String(index))!),
    }
  }
  return Object.fromEntries(
    operators.map((operator) => [`${path}/${operator.name}`, { limit, statements: [statementOf(operator)] }]),
  )
}

/** So many different requests for each operator. */
export function operatorRequests(different: number): ListRequests[] {
  const query = (values: object): string => new URLSearchParams(Object.entries(values)).toString()
  return operators.map(({ name, request }) => {
    const requests = Array.from({ length: different }, (_, number) => request(number))
    return {
      path: `${path}/${name}`,
      isOperator: true,
      ours: requests.map(({ parameters }) => `${path}?${query(parameters)}`),
      bare: requests.map(({ values }) => `${path}/${name}?${query(values)}`),
    }
  })
}

/** Creates the table, with the indexes that `postern config check` advises, and those of the statements written by hand. */
export async function seedArticles(database: Database, count: number): Promise<void> {
  const isPostgres = database.engine === 'postgres'
  const run = (statement: string) => database.transaction((tx) => sql.raw(statement).execute(tx))
  const [tags, data] = isPostgres ? ['text[]', 'jsonb'] : ['text', 'text']
  await run(
    `create table articles (id integer primary key, title text, status text, number integer, tags ${tags}, data ${data})`,
  )
  const mixed = '(cast(n as bigint) * 2654435761 % 4294967296)'
  const hex = isPostgres ? `lpad(to_hex(${mixed}), 8, '0')` : `printf('%08x', ${mixed})`
  const tag = isPostgres
    ? `array['t' || (n % 50), 'u' || (n % 7)]`
    : `json_array('t' || (n % 50), 'u' || (n % 7))`
  const member = isPostgres
    ? `jsonb_build_object('colour', 'c' || (n % 500))`
    : `json_object('colour', 'c' || (n % 500))`
  const cases = statuses.map((name, index) => `when ${index} then '${name}'`).join(' ')
  await fill(database, count, [
    {
      into: 'articles (id, title, status, number, tags, data)',
      values: `n, 'Article ' || ${hex}, case n % ${statuses.length} ${cases} end, n % 1000, ${tag}, ${member}`,
    },
  ])
  const colour = memberColumn('data', 'colour', database.engine)
  const indexes = isPostgres
    ? [
        'create extension if not exists pg_trgm',
        'create index articles_trigrams on articles using gin (title gin_trgm_ops)',
        'create index articles_lower on articles ((lower(title)) collate "C")',
        'create index articles_tags on articles using gin (tags)',
        `create index articles_colours on articles ((data ->> 'colour'), id)`,
        'analyze articles',
      ]
    : [
        `create virtual table articles_trigrams using fts5(title, content=articles, tokenize='trigram')`,
        `insert into articles_trigrams (articles_trigrams) values ('rebuild')`,
        'create index articles_lower on articles (lower(title))',
        `create index articles_colours on articles (data ->> '$.colour', id)`,
      ]
  for (const statement of [...indexes, `create index articles_members on articles ((${colour}), id)`])
    await run(statement)
}
