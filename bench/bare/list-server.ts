// What a list cannot do without, and no more: the query string, the prepared statement, JSON. On node:http or on Fastify.
import Fastify from 'fastify'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import pg from 'pg'
import type { EngineName } from '../harness/databases.ts'
import { parametersOf, ready } from '../harness/child-process.ts'
import { bareLists, type Query, type Value } from '../lists/queries.ts'

const { engine, url, on } = parametersOf<{
  engine: EngineName
  url: string
  on: 'node:http' | 'fastify'
}>()
const lists = bareLists(engine)
const read = engine === 'sqlite' ? sqliteReader() : postgresReader()

type Rows = Record<string, unknown>[]

function sqliteReader(): (sql: string, values: Value[]) => Rows {
  const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
  // The same page cache as Postern's reading connection has.
  database.exec('pragma cache_size = -32000')
  const statements = new Map<string, StatementSync>()
  return (sql, values) => {
    let statement = statements.get(sql)
    if (!statement) statements.set(sql, (statement = database.prepare(sql)))
    return statement.all(...values)
  }
}

function postgresReader(): (sql: string, values: Value[]) => Promise<Rows> {
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  const texts = Object.values(lists).flatMap(({ statements }) => statements.map(({ sql }) => sql))
  return async (sql, values) =>
    (await pool.query<Record<string, unknown>>({ name: `bare_${texts.indexOf(sql)}`, text: sql, values }))
      .rows
}

async function page(path: string, query: Query): Promise<object> {
  const list = lists[path]
  if (!list) throw new Error(`no list ${path}`)
  let rows: Rows = []
  let total: unknown
  for (const { sql, values } of list.statements) {
    rows = await read(sql, values(query))
    total ??= rows[0]?.['total']
  }
  return { data: rows.slice(0, list.limit), total, more: rows.length > list.limit }
}

async function respond(target: string, response: ServerResponse): Promise<void> {
  const [path, query] = target.split('?', 2)
  const parameters = new URLSearchParams(query)
  const body = Buffer.from(JSON.stringify(await page(path!, (name) => parameters.get(name))))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}

function nodeServer(): Server {
  return createServer((request, response) => {
    respond(request.url!, response).catch((error: unknown) => {
      console.error(error)
      response.writeHead(500, { 'content-length': 0 }).end()
    })
  })
}

if (on === 'node:http') {
  const server = nodeServer()
  server.listen(0, '127.0.0.1', () => ready({ port: (server.address() as AddressInfo).port }))
} else {
  const app = Fastify()
  for (const path of Object.keys(lists))
    app.get(path, ({ query }) => page(path, (name) => (query as Record<string, string>)[name] ?? null))
  await app.listen({ port: 0, host: '127.0.0.1' })
  ready({ port: (app.server.address() as AddressInfo).port })
}
