import { createHash, createHmac } from 'node:crypto'
import { adminKey, sampleBody, webhookSecret } from './sample.ts'
import type { Emits, Gets, Load, Webhooks } from './load.ts'

/** The bytes of every request, ready to be written to a socket. */
export function makeRequests({ requests }: Load): Buffer[] {
  if (requests.kind === 'webhooks') return makeWebhooks(requests)
  return requests.kind === 'emits' ? makeEmits(requests) : makeGets(requests)
}

function makeWebhooks({ count, prefix }: Webhooks): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const body = sampleBody({ id: `${prefix}-${index}`, type: 'order.paid' })
    const signature = createHmac('sha256', webhookSecret).update(body).digest('hex')
    return post('/webhooks/provider', { 'x-signature': signature }, body)
  })
}

function makeEmits({ count, prefix, owner, throughSvix = false }: Emits): Buffer[] {
  const authorization = `Bearer ${adminKey}`
  return Array.from({ length: count }, (_, index) => {
    const plain = `${prefix}-${index}`
    // Hashed, because clients' keys are random, and inserting ordered keys would cost less.
    const id = owner === undefined ? plain : createHash('sha256').update(plain).digest('hex')
    const body = sampleBody({ id, type: 'order.paid', ...(owner !== undefined && { audience: owner }) })
    if (!throughSvix) return post('/events', { authorization }, body)
    const { type, data } = JSON.parse(body) as { type: string; data: object }
    // Svix's libraries send a key with each request.
    const headers = { authorization, 'idempotency-key': id }
    return post(`/api/v1/app/${owner!}/msg`, headers, JSON.stringify({ eventType: type, payload: data }))
  })
}

function makeGets({ count, paths, headers, cookies = [] }: Gets): Buffer[] {
  const kinds = Math.max(paths.length, cookies.length)
  const made = Array.from({ length: Math.min(kinds, count) }, (_, index) => {
    const cookie = cookies[index % cookies.length]
    const all = cookie === undefined ? headers : { ...headers, cookie }
    return Buffer.from(`${head(`GET ${paths[index % paths.length]!}`, all)}\r\n`)
  })
  return Array.from({ length: count }, (_, index) => made[index % made.length]!)
}

/** The bytes of a POST. */
export function post(path: string, headers: Record<string, string>, body: string): Buffer {
  const length = String(Buffer.byteLength(body))
  return Buffer.from(
    `${head(`POST ${path}`, { ...headers, 'content-type': 'application/json', 'content-length': length })}\r\n${body}`,
  )
}

function head(start: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `${start} HTTP/1.1\r\n${lines.join('')}`
}
