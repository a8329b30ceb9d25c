import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

interface Entity {
  id: string
  uid?: string
  updatedAt: string
  [field: string]: unknown
}

export interface SvixEndpoint extends Entity {
  url: string
  /** The key that GET …/secret returns. */
  key: string
  headers?: Record<string, string>
  sensitive?: string[]
}

export interface SvixMessage {
  id: string
  timestamp: string
  [field: string]: unknown
}

export interface SvixServer {
  url: string
  token: string
  eventTypes: { name: string; updatedAt: string; [field: string]: unknown }[]
  applications: (Entity & { endpoints: SvixEndpoint[]; messages?: SvixMessage[] })[]
  /** Paths that were requested. */
  requests: string[]
  /** Called before each answer. */
  before: (path: string) => void
  /** The next requests get this status. */
  failures: number[]
  close: () => void
}

/** A server that answers GETs as Svix's open-source server does: its lists are ordered by id, and the iterator is the last id of a page. */
export async function startSvixServer(): Promise<SvixServer> {
  const server: SvixServer = {
    url: '',
    token: 'a token of Svix',
    eventTypes: [],
    applications: [],
    requests: [],
    before: () => {},
    failures: [],
    close: () => listener.close(),
  }
  const listener = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://svix')
    server.requests.push(pathname)
    server.before(pathname)
    const failure = server.failures.shift()
    const isAllowed = request.headers.authorization === `Bearer ${server.token}`
    const found = isAllowed ? answerOf(server, pathname, searchParams) : undefined
    const status = failure ?? (!isAllowed ? 401 : found ? 200 : 404)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found ?? { code: 'failed', detail: 'Failed' }))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  server.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  return server
}

function answerOf({ eventTypes, applications }: SvixServer, path: string, query: URLSearchParams): unknown {
  if (path === '/api/v1/event-type') return page(eventTypes, 'name', query)
  if (path === '/api/v1/app')
    return page(
      applications.map(({ endpoints: _endpoints, messages: _messages, ...shown }) => shown),
      'id',
      query,
    )
  const [, sender] = /^\/api\/v1\/app\/([^/]+)\/msg$/.exec(path) ?? []
  if (sender !== undefined)
    return messagesOf(applications.find(({ id }) => id === sender)?.messages ?? [], query)
  const [, app, endpoint, part] =
    /^\/api\/v1\/app\/([^/]+)\/endpoint(?:\/([^/]+)\/(secret|headers))?$/.exec(path) ?? []
  const endpoints = applications.find(({ id, uid }) => id === app || uid === app)?.endpoints
  if (endpoint === undefined)
    return (
      endpoints &&
      page(
        endpoints.map(({ key: _key, headers: _headers, sensitive: _sensitive, ...shown }) => shown),
        'id',
        query,
      )
    )
  const found = endpoints?.find(({ id }) => id === endpoint)
  if (!found) return undefined
  const { key, headers = {}, sensitive = [] } = found
  return part === 'secret' ? { key } : { headers, sensitive }
}

/** The page above an iterator with a hyphen, or the oldest page after a time, within 90 days of it. The newest message is the first. */
function messagesOf(messages: readonly SvixMessage[], query: URLSearchParams) {
  const above = query.get('iterator')?.replace(/^-/, '') ?? ''
  const after = Date.parse(query.get('after') ?? '1970-01-01')
  const before = query.has('after') ? after + 90 * 86_400_000 : Number.POSITIVE_INFINITY
  const rest = messages
    .filter(
      ({ id, timestamp }) => id > above && Date.parse(timestamp) > after && Date.parse(timestamp) < before,
    )
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const data = rest.slice(0, Number(query.get('limit'))).toReversed()
  return {
    data,
    iterator: data.at(-1)?.id ?? null,
    prevIterator: data.length > 0 ? `-${data[0]!.id}` : null,
    done: rest.length <= data.length,
  }
}

function page<T extends Record<string, unknown>>(all: readonly T[], key: string, query: URLSearchParams) {
  const iterator = query.get('iterator')
  const limit = Number(query.get('limit') ?? 50)
  const rest = all.filter((one) => iterator === null || String(one[key]) > iterator)
  const data = rest.slice(0, limit)
  return {
    data,
    iterator: (data.at(-1)?.[key] as string | undefined) ?? null,
    prevIterator: null,
    done: rest.length <= limit,
  }
}
