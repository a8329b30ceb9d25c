import { createHmac } from 'node:crypto'
import type { App } from '../http/app.ts'
import { defaultBodyLimit } from '../http/body/reader.ts'
import type { ReceivingConfig } from '../receiving/index.ts'
import { newToken } from '../crypto/secrets.ts'
import { hmac } from '../receiving/schemes/hmac.ts'
import { standardWebhooks } from '../receiving/schemes/standard-webhooks.ts'
import type { Database } from '../storage/database.ts'
import { sleep } from '../runtime/clock.ts'
import { minute } from '../telemetry/history/store.ts'
import { demoProviderName } from './identity-provider.ts'
import { insertSampleData } from './sample-data.ts'
import type { ModuleParts } from '../http/service-module.ts'

/** The source of the sample events. It exists only in demo mode. */
const sampleSource = 'shop'
const sampleCustomer = 'acme'
/** The names of what demo mode creates end with it. */
const mark = '(sample)'
const signatureHeader = 'x-signature'

/** Type and data of the sample events. Their ids are `sample-1` and so on. */
const events: readonly (readonly [type: string, data: Readonly<Record<string, unknown>>])[] = [
  ['sample.order.paid', { order: '1001', amount: 4200, currency: 'EUR' }],
  ['sample.order.paid', { order: '1002', amount: 1950, currency: 'EUR' }],
  ['sample.stock.changed', { sku: 'SKU-7', stock: null }],
  ['sample.order.paid', { order: '1003', amount: 11_900, currency: 'EUR' }],
  ['sample.order.refunded', { order: '1002', amount: 1950, currency: 'EUR' }],
  ['sample.order.paid', { order: '1004', amount: 780, currency: 'EUR' }],
  ['sample.stock.changed', { sku: 'SKU-7', stock: null }],
  ['sample.order.paid', { order: '1005', amount: 3300, currency: 'EUR' }],
  ['sample.stock.changed', { sku: 'SKU-7', stock: null }],
  ['sample.order.refunded', { order: '1004', amount: 780, currency: 'EUR' }],
]

/** Addresses of this service that receive what demo mode sends by itself, so that it stays on this machine. */
const paths = {
  subscriber: '/demo/subscriber',
  works: '/demo/acme/works',
  down: '/demo/acme/down',
  alerts: '/demo/alerts',
} as const
const sinks = [
  [paths.works, 204],
  [paths.down, 503],
  [paths.alerts, 204],
] as const

/** Endpoints of a customer that get sample events only. Their retries are short: deliveries fail for good while the newcomer looks. */
const customerEndpoints = [
  { path: paths.works, description: 'Sample: accepts all' },
  { path: paths.down, description: 'Sample: returns 503' },
] as const

const destinations = [
  {
    kind: 'teams',
    name: `On call ${mark}`,
    conditions: ['handler-failing', 'work-stalls', 'disk-fills'],
    severity: 'error',
    repeatSeconds: 3600,
    enabled: false,
  },
  { kind: 'slack', name: `Operations channel ${mark}` },
] as const

const [linux, windows, mac, phone, android, tablet] = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPad; CPU OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
] as const

/** The choice at the built-in provider, and the browser. */
const signIns: readonly (readonly [choice: Readonly<Record<string, string>>, userAgent: string])[] = [
  [{ person: 'ada' }, linux],
  [{ person: 'ada' }, phone],
  [{ person: 'grace' }, mac],
  [{ person: 'alan' }, windows],
  [{ person: 'alan' }, android],
  [{ person: 'katherine' }, linux],
  [{ name: 'Charles Babbage' }, windows],
  [{ name: 'Emmy Noether' }, mac],
  [{ name: 'Emmy Noether' }, phone],
  [{ name: 'Mary Somerville' }, android],
  [{ cancel: 'yes' }, android],
]

type SampleParts = Pick<ModuleParts, 'configuration' | 'database' | 'keyring' | 'clock' | 'log' | 'baseUrl'>

/**
 * The samples of demo mode. Apart from products and posts, they come about by public calls of this service, so the figures on its pages
 * agree with each other.
 */
export class Samples {
  readonly #parts: SampleParts
  readonly #secret: string
  /** Calls with this header are the samples' own, which the log leaves out. */
  readonly #own = { 'x-postern-samples': newToken() }

  constructor(parts: SampleParts) {
    this.#parts = parts
    // Derived, so that each start has the same one.
    this.#secret = parts.keyring.sign('secret of the sample source', 'demo').toString('base64')
  }

  /** The source and the handlers of the sample events: one that emits to the sample customer, and one that fails. */
  receiving(): ReceivingConfig {
    const scheme = hmac({ header: signatureHeader, secret: this.#secret })
    return {
      sources: {
        [sampleSource]: {
          ...scheme,
          secretFrom: 'the generated demo secret',
        },
      },
      handlers: {
        'sample.order.*': (event, { emit }) => {
          const { data } = event.payload as { data: unknown }
          emit({ type: `${event.type}.noted`, data, audience: sampleCustomer })
        },
        'sample.stock.*': (event) => {
          const { data } = event.payload as { data: { sku: string } }
          throw new Error(`The stock of ${data.sku} is unknown`)
        },
      },
    }
  }

  /** Declares the addresses of the samples, and fills the pages when somebody opens the first one: log lines must not hide the banner. */
  async routes(app: App): Promise<void> {
    await app.register(async (scope: App) => {
      scope.removeAllContentTypeParsers()
      scope.bodies.parse(scope, ['*'], (_request, bytes, done) => done(null, bytes), defaultBodyLimit)
      const options = { config: { access: 'public' }, schema: { hide: true } } as const
      for (const [path, status] of sinks)
        // Their answers are not logged: the deliveries are.
        scope.post(path, { ...options, logLevel: 'warn' }, async (_request, reply) =>
          reply.code(status).send(),
        )
      this.#subscriberRoute(scope)
    })
    let filled: Promise<void> | undefined
    app.addHook('onRequest', (request, _reply, done) => {
      if (request.headers['x-postern-samples'] === this.#own['x-postern-samples']) {
        if (request.log.level === 'info') request.log.level = 'warn'
      } else if (!filled && /\/(?:login|dashboard)(?:\/|$)/.test(request.routeOptions.url ?? ''))
        filled = this.#fill().catch((error: unknown) =>
          this.#parts.log.warn({ err: error }, 'the sample events could not be stored'),
        )
      done()
    })
  }

  /** POST /demo/subscriber verifies webhooks and logs them. */
  #subscriberRoute(scope: App): void {
    const { clock, log } = this.#parts
    const scheme = standardWebhooks({ secret: this.#subscriberSecret() })
    const options = { config: { access: 'public' }, schema: { hide: true } } as const
    scope.post(paths.subscriber, options, async ({ headers, body }, reply) => {
      const rawBody = body instanceof Buffer ? body : Buffer.alloc(0)
      const event = scheme.verify({ rawBody, headers, now: clock.now() })
      if (!('type' in event)) {
        log.warn('the sample endpoint rejected a webhook with an invalid signature')
        return reply.code(401).send()
      }
      // The data is the last member. The text is not parsed, because that would round large numbers.
      const [, ...rest] = rawBody.toString().slice(0, -1).split(',"data":')
      const data = rest.join(',"data":')
      log.info(
        { eventId: event.id },
        `the sample endpoint received ${event.type} with a valid signature: ${data.slice(0, 200)}`,
      )
      return reply.code(204).send()
    })
  }

  #subscriberSecret(): string {
    return this.#parts.keyring.sign('secret of the sample subscriber', 'demo').toString('base64')
  }

  /** To be called when the service listens: creates endpoints and destinations, or updates their addresses at a later start. */
  async begin(): Promise<void> {
    const { database, clock, baseUrl } = this.#parts
    const isFirst = await insertSampleData(database, clock.now())
    const known = isFirst ? [] : await this.#list('/subscribers')
    if (!known.some(({ url }) => String(url).endsWith(paths.subscriber)))
      await this.#call('POST', '/subscribers', {
        url: baseUrl() + paths.subscriber,
        secret: `whsec_${this.#subscriberSecret()}`,
        description: 'Sample: logs the events it receives',
      })
    if (isFirst) {
      for (const { path, description } of customerEndpoints)
        await this.#call('POST', '/subscribers', {
          url: baseUrl() + path,
          description,
          eventTypes: ['sample.*'],
          retrySchedule: [0, 5],
          owner: sampleCustomer,
        })
      for (const destination of destinations)
        await this.#call('POST', '/alerts', { ...destination, url: baseUrl() + paths.alerts })
      return
    }
    for (const { id, url } of known) {
      const [path] = /\/demo\/(?:subscriber|acme\/\w+)$/.exec(String(url)) ?? []
      if (path !== undefined && url !== baseUrl() + path)
        await this.#call('PATCH', `/subscribers/${String(id)}`, { url: baseUrl() + path })
    }
    for (const { id, name, host } of await this.#list('/alerts'))
      if (String(name).endsWith(mark) && host !== new URL(baseUrl()).host)
        await this.#call('PATCH', `/alerts/${String(id)}`, { url: baseUrl() + paths.alerts })
  }

  async #fill(): Promise<void> {
    if ((await sampleEventsUntil(this.#parts.database)) !== undefined) return
    await this.#sendWebhooks()
    await this.#createKeysAndApp()
    await this.#signInAll()
    await this.#startJobs()
  }

  /** Verified and stored like all webhooks. Some are rejected: a probe, a secret of another environment, an event without a type. */
  async #sendWebhooks(): Promise<void> {
    const order = { id: 'evt_9127', type: 'sample.order.paid', data: { order: '0997', amount: 2650 } }
    await this.#send({ ping: true }, undefined, 'python-requests/2.32.5')
    await this.#send(order, 'of another environment', 'Shop/3.1 (staging)')
    await this.#send({ id: 'evt_8804', data: {} }, this.#secret, 'Shop/3.1')
    for (const [index, [type, data]] of events.entries())
      await this.#send({ id: eventId(index), type, data }, this.#secret, 'Shop/3.1')
  }

  async #send(event: object, secret: string | undefined, userAgent: string): Promise<void> {
    const body = JSON.stringify(event)
    const headers = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...(secret !== undefined && {
        [signatureHeader]: createHmac('sha256', secret).update(body).digest('hex'),
      }),
    }
    const url = `${this.#parts.baseUrl()}/webhooks/${sampleSource}`
    await (await fetch(url, { method: 'POST', headers, body })).body?.cancel()
  }

  async #createKeysAndApp(): Promise<void> {
    const expires = (days: number) => new Date(this.#parts.clock.now() + days * 1440 * minute).toISOString()
    const key = (name: string, scopes: string[], expiresAt: string | null) =>
      this.#call('POST', '/keys', { name: `${name} ${mark}`, scopes, expiresAt })
    const first = await key('First integration', ['events:write', 'subscribers:write'], null)
    await this.#call('DELETE', `/keys/${String(first['id'])}`)
    await key('Nightly export', ['lists:read', 'users:read'], expires(6))
    await key('Shop back end', ['events:write', 'subscribers:read'], expires(172))
    await this.#call('POST', '/clients', {
      name: `Reader ${mark}`,
      confidential: false,
      redirectUris: ['https://reader.example/callback'],
      scopes: ['openid', 'profile', 'email', 'offline_access'],
    })
  }

  /** People sign in at the built-in provider. One becomes an administrator, another one is blocked. */
  async #signInAll(): Promise<void> {
    for (const [choice, userAgent] of signIns) await this.#signIn(choice, userAgent)
    const changes = new Map<unknown, object>([
      ['Grace Hopper', { role: 'admin' }],
      ['Charles Babbage', { blocked: true }],
    ])
    for (const { id, name } of await this.#list('/users')) {
      const change = changes.get(name)
      if (change) await this.#call('PATCH', `/users/${String(id)}`, change)
    }
    // Her new role has ended her session.
    await this.#signIn({ person: 'grace' }, tablet)
    await this.#signIn({ person: 'grace' }, mac)
    await this.#signIn({ name: 'Charles Babbage' }, windows)
  }

  /** Follows a sign-in as a browser does. */
  async #signIn(choice: Readonly<Record<string, string>>, userAgent: string): Promise<void> {
    const cookies = new Map<string, string>()
    let url = `${this.#parts.baseUrl()}/auth/${demoProviderName}`
    let form: URLSearchParams | undefined
    for (let hop = 0; hop < 10; hop += 1) {
      const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(url, {
        headers: { ...this.#own, cookie, 'user-agent': userAgent },
        redirect: 'manual',
        ...(form && { method: 'POST', body: form }),
      })
      await response.body?.cancel()
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      const location = response.headers.get('location')
      if (location !== null && /\/(?:login|dashboard)\b/.test(location)) return
      form = location === null ? new URLSearchParams(choice) : undefined
      if (location !== null) url = new URL(location, url).href
    }
  }

  async #startJobs(): Promise<void> {
    await this.#call('POST', '/events/reprocess', { status: 'retrying' })
    for (const { id, description } of await this.#list(`/subscribers?owner=${sampleCustomer}`)) {
      const works = description === customerEndpoints[0].description
      if (works) await this.#untilDelivered(String(id))
      // By now this endpoint has deliveries to replay. At this rate, the job is cancelled before it is done.
      const replay = works ? { status: 'delivered', rate: 0.01 } : { status: 'pending' }
      const job = await this.#call('POST', `/subscribers/${String(id)}/replay`, replay)
      if (works) await this.#call('DELETE', `/jobs/${String(job['id'])}`)
    }
  }

  /** Waits until an endpoint has accepted a delivery, for about half a minute at most. */
  async #untilDelivered(id: string): Promise<void> {
    const delivered = () => this.#list(`/subscribers/${id}/deliveries?status=delivered`)
    for (let looks = 0; looks < 300 && (await delivered()).length === 0; looks += 1)
      await sleep(this.#parts.clock, 100)
  }

  async #list(path: string): Promise<Record<string, unknown>[]> {
    const query = `${path.includes('?') ? '&' : '?'}limit=100`
    return (await this.#call('GET', path + query))['data'] as Record<string, unknown>[]
  }

  /** Calls this service with the key of the administrator. */
  async #call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const { baseUrl, configuration } = this.#parts
    const response = await fetch(baseUrl() + path, {
      method,
      headers: {
        ...this.#own,
        authorization: `Bearer ${configuration.adminApiKey}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body ? JSON.stringify(body) : null,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} returned HTTP ${response.status}: ${text}`)
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  }
}

const eventId = (index: number): string => `sample-${index + 1}`

/**
 * The time until which counts of handlers and deliveries may be those of the sample events, in milliseconds since 1970; undefined
 * without sample events.
 */
async function sampleEventsUntil({ reader }: Pick<Database, 'reader'>): Promise<number | undefined> {
  const last = await reader
    .selectFrom('event_queue')
    .innerJoin('events', 'events.id', 'event_queue.event')
    .select('events.created_at')
    .where('event_queue.source', '=', sampleSource)
    .where('event_queue.event_id', '=', eventId(events.length - 1))
    .executeTakeFirst()
  return last && last.created_at + 10 * minute
}

/** What demo mode creates by itself does not tick off a step of `GET /checklist`. */
export const demoNames = {
  provider: demoProviderName,
  keys: `% ${mark}`,
  subscribers: '/demo/%',
  subscribersOfSamples: '/demo/acme/%',
  source: sampleSource,
  types: 'sample.',
  samplesUntil: sampleEventsUntil,
} as const
