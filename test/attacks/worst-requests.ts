// The worst requests that anybody may send: for every route that needs no credential, and every source. What a route reads is taken from
// the service's own table of routes and its OpenAPI document, so that a new route is covered without a change here.
import type { Dispatcher } from 'undici'
import { paypal, sns, type Scheme } from '../../src/index.ts'
import { sources } from '../fuzz/sources.ts'

export interface WorstRequest {
  readonly name: string
  readonly kind: 'query' | 'header' | 'form' | 'JSON' | 'webhook'
  /** The largest size, in bytes. */
  readonly most: number
  /** What is sent with this size. */
  readonly of: (bytes: number) => Sent
}

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
}

interface Operation {
  readonly security?: unknown[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
}

export interface RouteTable {
  /** As `GET /users`. */
  readonly routes: readonly string[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Headers of a request have 16 KiB in all. */
const mostOfHead = 15_000
/** WEBHOOK_BODY_LIMIT. */
const mostOfWebhook = 1024 * 1024
/** See `anonymousBodyLimit`. */
const mostOfBody = 32 * 1024

const fill = (unit: string, bytes: number): string =>
  unit.repeat(Math.ceil(bytes / unit.length)).slice(0, bytes)
const numbered = (bytes: number, unit: (index: number) => string): string => {
  const units: string[] = []
  for (let length = 0; length < bytes;) {
    const next = unit(units.length)
    length += next.length
    units.push(next)
  }
  return units.join('').slice(0, bytes)
}

type Shapes<T extends string | Buffer = string> = Readonly<Record<string, (bytes: number) => T>>

/** Hundreds of routes get the same texts, and to make one takes longer than to answer it. */
const remembered = <T extends string | Buffer>(shapes: Shapes, as: (text: string) => T): Shapes<T> => {
  const entries = Object.entries(shapes).map(([name, text]): [string, (bytes: number) => T] => {
    const made = new Map<number, T>()
    return [
      name,
      (bytes) => {
        const known = made.get(bytes) ?? as(text(bytes))
        made.set(bytes, known)
        return known
      },
    ]
  })
  return Object.fromEntries(entries)
}

const asText = (text: string): string => text
const asBody = (text: string): Buffer => Buffer.from(text)

/** Texts on which readers of numbers, lists, dates, paths, filters and tokens may take long. */
const texts = remembered(
  {
    zeros: (bytes) => `${fill('0', bytes - 1)}E`,
    digits: (bytes) => `${fill('9.', bytes - 1)}x`,
    spaces: (bytes) => `a${fill(' ', bytes - 2)}b`,
    commas: (bytes) => fill('a,', bytes),
    pairs: (bytes) => numbered(bytes, (index) => `a${index}=b; `),
    quotes: (bytes) => `${fill('"\\', bytes - 1)}x`,
    slashes: (bytes) => `/${fill('/', bytes - 2)}x`,
    dots: (bytes) => `${fill('aa.', bytes - 1)}%`,
    percents: (bytes) => fill('%', bytes),
    brackets: (bytes) => fill('[{', bytes),
    weights: (bytes) => numbered(bytes, (index) => `a/${index};q=0.${index % 10},`),
    letters: (bytes) => `Bearer ${fill('eyJ', bytes - 7)}`,
    equals: (bytes) => `${fill('=', bytes - 1)}x`,
  },
  asText,
)

/** JSON in which names, values, levels, escapes or digits are many. Some is cut off. */
const documents: Shapes = {
  names: (bytes) => `{${numbered(bytes - 8, (index) => `"k${index}":1,`).replace(/,[^,]*$/, '')}}`,
  objects: (bytes) => `[${numbered(bytes - 8, (index) => `{"k${index}":1},`).replace(/,[^,]*$/, '')}]`,
  empty: (bytes) => `[${fill('{},', Math.floor((bytes - 5) / 3) * 3)}{}]`,
  levels: (bytes) => `${fill('[', Math.floor(bytes / 2))}${fill(']', Math.floor(bytes / 2))}`,
  open: (bytes) => fill('[', bytes),
  'open objects': (bytes) => fill('{"a":', bytes),
  escapes: (bytes) => `"${fill('\\u0041', Math.floor((bytes - 2) / 6) * 6)}"`,
  'a long number': (bytes) => fill('9', bytes),
  spaces: (bytes) => `${fill(' ', bytes - 2)}{}`,
  quotes: (bytes) => fill('"a" ', bytes),
}

const forms: Shapes = {
  names: (bytes) => numbered(bytes, (index) => `k${index}=&`),
  'names without =': (bytes) => `a=1&${fill('a&', bytes - 4)}`,
  'one name': (bytes) => fill('a=1&', bytes),
  escapes: (bytes) => `a=${fill('%41', bytes - 2)}`,
  percents: (bytes) => `a=${fill('%', bytes - 2)}`,
  pluses: (bytes) => `a=${fill('+', bytes - 2)}`,
  ampersands: (bytes) => `a=1${fill('&', bytes - 3)}`,
  'a long value': (bytes) => `client_id=${fill('x', bytes - 10)}`,
  'a long state': (bytes) => `state=${fill('x', bytes - 6)}`,
}

const queries = remembered({ ...forms, 'names without = alone': (bytes) => fill('a&', bytes) }, asText)

const signedItem = `{"NotificationRequestItem":{"additionalData":{"hmacSignature":"${'A'.repeat(43)}="}}}`

const formBodies = remembered(forms, asBody)
const documentBodies = remembered(documents, asBody)
/** Where senders have a signature or a secret within the body, and items of which the first looks signed. */
const signedBodies = remembered(
  Object.fromEntries(
    Object.entries(documents).flatMap(([name, text]): [string, (bytes: number) => string][] => [
      [
        `${name}, inside`,
        (bytes) => `{"signature":{"timestamp":"1","token":"a"},"value":${text(bytes - 60)}}`,
      ],
      [
        `${name}, items`,
        (bytes) => `{"notificationItems":[${signedItem},${text(bytes - signedItem.length - 30)}]}`,
      ],
    ]),
  ),
  asBody,
)

/** Headers that some route reads, of those that anybody may send. */
const headers =
  `accept accept-encoding accept-language authorization cookie content-type forwarded if-none-match if-match origin referer
  user-agent x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-uri x-forwarded-method x-original-url idempotency-key range
  access-control-request-headers access-control-request-method sec-fetch-site last-event-id`.split(/\s+/)

/** Values of signatures that let a check go on: of a right form, and wrong. */
const digest = `sha256=${'0'.repeat(64)}`
const base64 = Buffer.alloc(32).toString('base64')
const plausible: Readonly<Record<string, string>> = {
  'x-twilio-signature': Buffer.alloc(20).toString('base64'),
  'x-signature-ed25519': '0'.repeat(128),
  'x-slack-signature': `v0=${'0'.repeat(64)}`,
  'x-zm-signature': `v0=${'0'.repeat(64)}`,
  'x-dropbox-signature': '0'.repeat(64),
  'x-hubspot-signature-v3': base64,
  'x-twilio-email-event-webhook-signature': base64,
  'x-zendesk-webhook-signature': base64,
  'stripe-signature': `t=1700000000,v1=${'0'.repeat(64)}`,
  'webhook-id': 'a',
  'webhook-signature': `v1,${base64}`,
  'x-shopify-hmac-sha256': base64,
  'paypal-transmission-id': 'a',
  'paypal-transmission-time': '2026-03-01T12:00:00Z',
  'paypal-transmission-sig': Buffer.alloc(256).toString('base64'),
  'paypal-cert-url': 'https://api.paypal.com/v1/notifications/certs/a',
  'paypal-auth-algo': 'SHA256withRSA',
}

/** The headers that a source reads: its scheme is asked with none of them, and with signatures of each form. */
function readBy(scheme: Scheme): string[] {
  const read = new Set<string>()
  for (const given of [undefined, digest, base64]) {
    const valueOf = (name: string | symbol): string | undefined => {
      read.add(String(name))
      return given && (plausible[String(name)] ?? given)
    }
    const headers = new Proxy(
      {},
      { get: (_none, name) => valueOf(name), has: (_none, name) => valueOf(name) !== undefined },
    )
    scheme.verify({ rawBody: emptyObject, headers, now: Date.now(), url: 'https://gate.example.com/' })
  }
  return [...read]
}

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const emptyObject = Buffer.from('{}')
/** Svix's API, which is not in the document: only its state and what does not exist there is answered without a token. */
const needsToken = /^\/api\/v1\/(app|auth|background-task|environment|event-type|stats)\b/
const withBody = new Set(['POST', 'PUT', 'PATCH'])

/** All requests, with the route that they are for in their names. */
export function worstRequests({ routes, paths }: RouteTable): WorstRequest[] {
  const all: WorstRequest[] = []
  for (const route of routes) {
    const [method = '', url = ''] = route.split(' ')
    // The handler of GET.
    if (method === 'HEAD') continue
    const operation = paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    const path = url.replace(/:(\w+)/g, 'github').replace('*', 'x')
    const isPublic = (operation?.security ?? []).length === 0 && !needsToken.test(url)
    const scheme = method === 'POST' ? schemes[url.replace('/webhooks/', '')] : undefined
    all.push(...withQuery(route, method, path, isPublic ? (operation?.parameters ?? []) : []))
    if (!scheme)
      all.push(...withHeader(route, method, path, isPublic ? headers : ['authorization', 'cookie']))
    // The code that reads the others is the same for all sources.
    else if (path.endsWith('/provider')) all.push(...withHeader(route, method, path, headers))
    if (scheme) {
      const signatures = readBy(scheme)
      all.push(...withHeader(route, method, path, signatures), ...webhooks(route, path, signatures))
    } else if (withBody.has(method)) all.push(...bodies(route, method, path))
  }
  return all
}

function withQuery(
  route: string,
  method: string,
  path: string,
  parameters: NonNullable<Operation['parameters']>,
): WorstRequest[] {
  const send = (query: string): Sent => ({ method, path: `${path}?${query}`, headers: {} })
  const generic = Object.entries(queries).map(([name, text]) => ({
    name: `${route}, query: ${name}`,
    kind: 'query' as const,
    most: mostOfHead,
    of: (bytes: number) => send(text(bytes)),
  }))
  const named = parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap((parameter) =>
      Object.entries(texts).map(([name, text]) => ({
        name: `${route}, ${parameter.name}: ${name}`,
        kind: 'query' as const,
        most: mostOfHead,
        of: (bytes: number) =>
          send(`${parameter.name}=${text(bytes - parameter.name.length - 1).replaceAll(' ', '+')}`),
      })),
    )
  return [...generic, ...named]
}

function withHeader(route: string, method: string, path: string, names: readonly string[]): WorstRequest[] {
  return names.flatMap((header) =>
    Object.entries(texts).map(([name, text]) => ({
      name: `${route}, ${header}: ${name}`,
      kind: 'header' as const,
      most: mostOfHead,
      of: (bytes: number) => ({
        method,
        path,
        headers: { ...(withBody.has(method) && { 'content-type': json }), [header]: text(bytes) },
        ...(withBody.has(method) && { body: emptyObject }),
      }),
    })),
  )
}

function bodies(route: string, method: string, path: string): WorstRequest[] {
  const of = (type: string, kind: 'form' | 'JSON', shapes: Shapes<Buffer>): WorstRequest[] =>
    Object.entries(shapes).map(([name, text]) => ({
      name: `${route}, ${kind}: ${name}`,
      kind,
      most: mostOfBody,
      of: (bytes) => ({ method, path, headers: { 'content-type': type }, body: text(bytes) }),
    }))
  return [...of(form, 'form', formBodies), ...of(json, 'JSON', documentBodies)]
}

function webhooks(route: string, path: string, signatures: readonly string[]): WorstRequest[] {
  const signed = Object.fromEntries(signatures.map((name) => [name, plausible[name] ?? digest]))
  const of = (type: string, kind: string, shapes: Shapes<Buffer>): WorstRequest[] =>
    Object.entries(shapes).map(([name, text]) => ({
      name: `${route}, ${kind}: ${name}`,
      kind: 'webhook',
      most: mostOfWebhook,
      of: (bytes) => ({
        method: 'POST',
        path,
        headers: { ...signed, 'content-type': type },
        body: text(bytes),
      }),
    }))
  return [...of(form, 'form', formBodies), ...of(json, 'JSON', { ...documentBodies, ...signedBodies })]
}

export interface Answered {
  readonly status: number
  /** Bytes. */
  readonly headers: number
}

/** Sends a request and reads the answer. Resolves with status 0 if the connection closes without one. */
export function send(to: Dispatcher, sent: Sent): Promise<Answered> {
  return new Promise((resolve) => {
    let answered: Answered = { status: 0, headers: 0 }
    to.dispatch(sent, {
      onRequestStart() {},
      onResponseStart({ rawHeaders }, status) {
        const length = (rawHeaders as Buffer[]).reduce((sum, text) => sum + text.length + 2, 0)
        answered = { status, headers: length }
      },
      onResponseData() {},
      onResponseEnd: () => resolve(answered),
      onResponseError: () => resolve(answered),
    })
  })
}

const schemes: Readonly<Record<string, Scheme>> = {
  ...Object.fromEntries(sources.map(({ name, scheme }) => [name, scheme])),
  paypal: paypal({ webhookId: 'w' }),
  sns: sns({ topicArn: 'arn:aws:sns:eu-central-1:123456789012:T' }),
}

/** What the service of the test and of the bench has: every source, apps, a provider of each kind, guarded hosts. */
export const exposed = {
  env: {
    NODE_ENV: 'production',
    CLIENT_REGISTRATION: 'open',
    TRUSTED_PROXIES: '127.0.0.1',
    GITHUB_CLIENT_ID: 'github-client',
    GITHUB_CLIENT_SECRET: 'github-secret-0123456789',
    CORS_ORIGINS: 'https://pages.example.com',
  },
  config: {
    receiving: { sources: schemes },
    login: {
      clients: [
        { id: 'shop', secret: 'shop-secret-0123456789', redirectUris: ['https://app.example.com/callback'] },
        { id: 'github', redirectUris: ['https://app.example.com/callback'] },
      ],
    },
    forwardAuth: { hosts: { 'app.example.com': { allow: 'signed-in' as const } } },
  },
}
