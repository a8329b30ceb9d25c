// What is called, before anything is done to how it is written.
import { createHmac } from 'node:crypto'
import { samples } from '../../src/receiving/samples/index.ts'
import { adminKey } from '../harness/service.ts'
import { bodyBytes, jsonText, jsonValue } from './bodies.ts'
import type { Chance } from '../harness/chance.ts'
import { signedAt, sources, type FuzzedSource } from './sources.ts'

export interface Call {
  method: string
  path: string
  headers: [name: string, value: string][]
  body?: Buffer
}

/** Any call of the public surface; most of them webhooks. `id` is one that no other call has. */
export function makeCall(chance: Chance, id: string): Call {
  const kind = chance.below(20)
  if (kind < 12) return webhook(chance, chance.pick(sources), id)
  if (kind < 13) return question(chance, chance.pick(sources))
  if (kind < 16)
    return { method: 'GET', path: `${chance.pick(lists)}?${query(chance)}`, headers: key(chance) }
  if (kind < 18) return withBody(chance, id)
  return {
    method: chance.pick(['GET', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY']),
    path: chance.is(0.7) ? chance.pick(pages) : `/${chance.pick(odd)}?${query(chance)}`,
    headers: key(chance),
  }
}

const lists = ['/users', '/events', '/products', '/api/posts', '/subscribers', '/audit', '/auth/sessions']
const pages = [
  '/login',
  '/dashboard',
  '/healthz',
  '/readyz',
  '/metrics',
  '/auth/session',
  '/auth/identities',
  '/auth/nobody',
  '/auth/nobody/callback?code=a&state=b',
  '/auth/demo/callback?code=a&state=b',
  '/problems/not-found',
  '/.well-known/jwks.json',
  '/events/1',
  '/events/-1',
  '/events/9999999999999999999999',
  '/jobs/x',
  '/deliveries/1',
  '/subscribers/x/deliveries',
  '/webhooks/nobody',
  '/webhooks/__proto__',
  '/nothing',
]
const odd = [
  '%',
  '%00',
  '%ff',
  '..%2f..',
  '//',
  'events/%F0%9F%98%80',
  'auth/%2e%2e',
  'x'.repeat(600),
  'users/;a=b',
]
const parameters = [
  'page',
  'limit',
  'cursor',
  'sort',
  'category',
  'minPrice',
  'inStock',
  'status',
  'since',
  'until',
  'type',
  'direction',
  'order',
  'code',
  'state',
  'client_id',
  'redirect_uri',
  'return_to',
  '__proto__',
  'a[b]',
  '',
]
const values = [
  '',
  '0',
  '1',
  '-1',
  '100',
  '101',
  '1e309',
  '9007199254740993',
  '0x10',
  'NaN',
  'true',
  'price,-name',
  '-price,,--x',
  '%',
  '%00',
  '%ff',
  '%ed%a0%80',
  'a'.repeat(300),
  '2026-01-01T00:00:00Z',
  'not a date',
  "'",
  'eyJhIjoxfQ',
  '%F0%9F%98%80',
  '+',
  '//evil.example',
]

function query(chance: Chance): string {
  const pair = (): string =>
    `${chance.pick(parameters)}${chance.is(0.95) ? '=' : ''}${chance.is(0.1) ? encodeURIComponent(jsonText(chance, 1).toWellFormed()) : chance.pick(values)}`
  return Array.from({ length: chance.below(5) }, pair).join(chance.is(0.97) ? '&' : '&&;')
}

function key(chance: Chance): Call['headers'] {
  const kind = chance.below(10)
  if (kind < 5) return [['authorization', `Bearer ${adminKey}`]]
  if (kind < 6)
    return [['authorization', chance.pick(['Bearer', 'Bearer x', 'Basic eDp5', 'Bearer a.b.c', ''])]]
  if (kind < 7)
    return [['cookie', chance.pick(['postern_session=x', 'a=;=b;;', 'postern_session=%', '__proto__=1'])]]
  return []
}

/** Webhooks rightly signed, wrongly signed, and rightly signed with a body that is none. */
function webhook(chance: Chance, { name, signing }: FuzzedSource, id: string): Call {
  const path = `/webhooks/${name}${chance.is(0.1) ? `?${query(chance)}` : ''}`
  const given = Object.hasOwn(samples, name) && chance.is(0.6) ? samples[name] : undefined
  const call: Call = { method: 'POST', path, headers: [['content-type', 'application/json']] }
  if (given) {
    const type = chance.pick(['order.paid', 'issues.opened', 'a', 'fuzz', 'x'.repeat(300)])
    const [data, url] = [jsonValue(chance), `http://localhost${path}`]
    const { headers, body } = given({ type, secret: signing, id, now: signedAt, data, url })
    call.body = Buffer.from(body)
    if (headers['content-type']) call.headers = []
    call.headers.push(...Object.entries(headers))
  } else {
    call.body = bodyBytes(chance, id)
    call.headers.push(...rawSignature(name, signing, call.body))
    if (chance.is(0.1)) call.headers[0]![1] = chance.pick(mediaTypes)
  }
  if (chance.is(0.12)) spoil(chance, call)
  return call
}

const mediaTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/vnd.x+json',
  ';',
  '/',
  '',
  'x'.repeat(500),
]

/** For the senders that sign any bytes simply. */
function rawSignature(name: string, secret: string, body: Buffer): Call['headers'] {
  const hex = (content: Buffer): string => createHmac('sha256', secret).update(content).digest('hex')
  const seconds = String(signedAt / 1000)
  const timed = (): Buffer => Buffer.concat([Buffer.from(`${seconds}.`), body])
  if (name === 'github')
    return [
      ['x-hub-signature-256', `sha256=${hex(body)}`],
      ['x-github-event', 'push'],
      ['x-github-delivery', hex(body).slice(0, 32)],
    ]
  if (name === 'stripe') return [['stripe-signature', `t=${seconds},v1=${hex(timed())}`]]
  if (name === 'shopify')
    return [
      ['x-shopify-hmac-sha256', Buffer.from(hex(body), 'hex').toString('base64')],
      ['x-shopify-topic', 'orders/create'],
      ['x-shopify-event-id', hex(body).slice(0, 32)],
    ]
  if (name === 'meta') return [['x-hub-signature-256', `sha256=${hex(body)}`]]
  if (name === 'dropbox') return [['x-dropbox-signature', hex(body)]]
  return [['x-signature', hex(body)]]
}

/** One of the headers, or the body, is no longer what was signed. */
function spoil(chance: Chance, call: Call): void {
  if (chance.is(0.3)) {
    call.body = bodyBytes(chance, 'spoiled')
    return
  }
  const header = chance.pick(call.headers)
  header[1] = chance.pick([
    '',
    'x',
    `${header[1]}0`,
    header[1].slice(1),
    header[1].repeat(50),
    't=,v1=',
    't=NaN,v1=zz',
    'v1,',
    'v1a,AAAA v1,==',
    'sha256=',
    '\xff\xfe',
    ',;= '.repeat(100),
  ])
}

function question(chance: Chance, { name }: FuzzedSource): Call {
  const asked = [
    'hub.mode=subscribe&hub.verify_token=fuzz&hub.challenge=abc',
    'challenge=abc',
    `challenge=${'x'.repeat(3_000)}`,
    'crc_token=abc',
    'validationToken=a%0d%0ab',
    'hub.mode=subscribe&hub.verify_token=&hub.challenge[]=x',
    query(chance),
  ]
  return {
    method: chance.pick(['GET', 'GET', 'POST', 'OPTIONS']),
    path: `/webhooks/${name}?${chance.pick(asked)}`,
    headers: [],
  }
}

function withBody(chance: Chance, id: string): Call {
  const path = chance.pick([
    '/events',
    '/events',
    '/auth/token',
    '/auth/logout',
    '/auth/nobody/callback',
    '/auth/demo/link',
    '/products',
    '/api/posts',
    '/products/x',
    '/subscribers/x/replay',
    '/subscribers/x/test',
    '/deliveries/1/replay',
    '/events/1/reprocess',
  ])
  const form = path.startsWith('/auth') && chance.is(0.7)
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
  const emit = `{"type":"fuzz.${chance.below(9)}","id":${JSON.stringify(`emit-${id}`)},"data":${jsonText(chance)}}`
  const fields = `grant_type=${chance.pick(['authorization_code', 'refresh_token', 'x', ''])}&client_id=spa&code=${chance.pick(values)}&code_verifier=x`
  const plain = form ? fields : emit
  return {
    method: chance.pick(['POST', 'POST', 'POST', 'PATCH', 'DELETE']),
    path,
    headers: [['content-type', chance.is(0.9) ? type : chance.pick(mediaTypes)], ...key(chance)],
    body: chance.is(0.6) ? Buffer.from(plain) : bodyBytes(chance, `emit-${id}`),
  }
}
