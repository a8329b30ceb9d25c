import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import { samples } from '../receiving/samples/index.ts'
import { readEnvironment } from '../config/environment.ts'
import { newId } from '../crypto/ids.ts'
import type { PosternConfig } from '../define-config.ts'
import { parseExactly, stringifyExactly } from '../json/exact.ts'
import type { AnyTables } from '../receiving/config.ts'
import type { Scheme } from '../receiving/schemes/scheme.ts'
import { startService } from '../service.ts'
import { createLog } from '../telemetry/log.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { receivedStatus } from '../events/store.ts'
import type { Queryable } from '../storage/database.ts'

export type { TestResult }

export interface TestKitOptions {
  /** Creates the tables that the handlers write to. */
  setUp?: (db: Kysely<AnyTables>) => Promise<unknown>
  /** The folder with the migrations of the product's own tables, such as `migrations`. */
  migrations?: string
  /** Additional settings, by their names in the environment. */
  env?: Readonly<Record<string, string>>
}

/** A webhook: the kit signs it as its sender would, or it is signed already. Numbers of `data` may be bigint. */
export type TestWebhook =
  | { type: string; data?: unknown; id?: string }
  | { headers: Readonly<Record<string, string>>; body: string | Uint8Array<ArrayBuffer> }

/** Runs the handlers of a configuration without a network, configured secrets or a permanent database. */
export interface TestKit {
  /** For reading what the handlers wrote. */
  readonly db: Kysely<AnyTables>
  /** The secret of all sources, in place of the configured ones: for signing with a sender's own library. */
  readonly secret: string
  /**
   * Sends a webhook through the verification of its source. Resolves when its handlers have ended. A repeated `id` is a
   * duplicate, which is acknowledged without running handlers.
   * @throws Error if the source is not configured, or the kit cannot sign for its sender.
   */
  receive(source: string, webhook: TestWebhook): Promise<TestResult>
  /**
   * Sends an event to an endpoint with a destination of the configuration. Resolves when its only attempt has ended.
   * @throws Error if the settings are rejected, with the reason
   */
  deliver(destination: string, sent: TestDelivery): Promise<TestDelivered>
  /** Stops the service, and deletes its database. */
  close(): Promise<void>
}

export interface TestDelivery {
  settings?: Readonly<Record<string, unknown>>
  secrets?: Readonly<Record<string, string>>
  type: string
  data?: unknown
  id?: string
}

export interface TestDelivered {
  readonly status: 'delivered' | 'failed'
  readonly error: string | undefined
  /** What `deliver` returned, as the attempt shows it. */
  readonly returned: string | undefined
  /** The signing secret of the endpoint. */
  readonly secret: string
}

/** Each handler runs once, so that a test sees its first failure; so do deliveries. */
const once = { HANDLER_RETRY_SCHEDULE: '0', EMIT_RETRY_SCHEDULE: '0', RATE_LIMIT: 'off', LOG_LEVEL: 'fatal' }

/**
 * Starts the service on an SQLite database in a temporary folder, with a generated secret for all sources.
 * @throws ConfigurationError if the configuration is invalid.
 */
export async function startTestKit(config: PosternConfig, options: TestKitOptions = {}): Promise<TestKit> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-kit-'))
  // Hex digits are base64 too, so that every preset accepts it.
  const secret = randomBytes(32).toString('hex')
  /** The reason of the latest rejection. */
  let rejection: string | undefined
  const sources = Object.entries(config.receiving?.sources ?? {}).map(([name, scheme]) => {
    const signed = canSign(scheme.name) ? { ...scheme, ...scheme.withSecrets([secret]) } : scheme
    const verify: Scheme['verify'] = (delivery) => {
      const result = signed.verify(delivery)
      rejection = 'rejected' in result ? result.detail : undefined
      return result
    }
    return [name, withoutForwarding({ ...signed, verify })]
  })
  const service = await startService({
    configuration: readEnvironment({
      PORT: '0',
      DATABASE_URL: `sqlite:${join(folder, 'test.db')}`,
      POSTERN_SECRET: randomBytes(32).toString('base64url'),
      WEBHOOK_SECRET: secret,
      ...once,
      ...options.env,
      ADMIN_API_KEY: secret,
    }),
    config: { ...config, receiving: { ...config.receiving, sources: Object.fromEntries(sources) } },
    log: createLog('fatal'),
    migrationsFolder: options.migrations,
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const { database, baseUrl } = service
  const db = database.reader as unknown as Kysely<AnyTables>
  if (options.setUp) await database.transaction((tx) => options.setUp!(tx as unknown as Kysely<AnyTables>))

  return {
    db,
    secret,
    async receive(source, webhook) {
      const last = await database.reader
        .selectFrom('events')
        .select((eb) => eb.fn.max('id').as('id'))
        .executeTakeFirst()
      const { headers, body } = 'body' in webhook ? webhook : signer(config, secret, baseUrl)(source, webhook)
      const response = await fetch(`${baseUrl}/webhooks/${source}`, { method: 'POST', headers, body })
      const answer = await response.text()
      if (!response.ok) {
        const error = response.status === 401 ? (rejection ?? answer) : answer
        return { httpStatus: response.status, status: 'refused', error, emitted: [] }
      }
      return { httpStatus: response.status, ...(await outcomeOf(database.reader, source, last?.id ?? 0)) }
    },
    deliver: (...given) => deliver(baseUrl, secret, ...given),
    async close() {
      await service.stop(5_000)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function deliver(
  baseUrl: string,
  adminKey: string,
  destination: string,
  { settings, secrets, ...event }: TestDelivery,
): Promise<TestDelivered> {
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const given = { method, headers: body ? headers : { authorization: headers.authorization } }
    const response = await fetch(baseUrl + path, { ...given, ...(body && { body: JSON.stringify(body) }) })
    const answer = response.status === 204 ? {} : ((await response.json()) as { detail?: string })
    if (!response.ok) throw new Error(answer.detail ?? `HTTP ${response.status}`)
    return answer as T
  }
  const endpoint = { destination, settings, secrets, eventTypes: [event.type] }
  const { id, secret } = await call<{ id: string; secret: string }>('POST', '/subscribers', endpoint)
  const log = `/subscribers/${id}/deliveries`
  await call('POST', '/events', { data: {}, ...event })
  let ended: { id: number; status: string } | undefined
  while (ended === undefined) {
    const { data } = await call<{ data: { id: number; status: string }[] }>('GET', log)
    ended = data.find(({ status }) => status !== 'pending')
    await wait(2)
  }
  const { attempts } = await call<{ attempts: { error: string | null; responseBody: string | null }[] }>(
    'GET',
    `/deliveries/${ended.id}`,
  )
  // Events of later calls are not for this endpoint.
  await call('DELETE', `/subscribers/${id}`)
  const { error, responseBody } = attempts[0]!
  const status = error === null ? 'delivered' : 'failed'
  return { status, error: error ?? undefined, returned: responseBody ?? undefined, secret }
}

/** Signs webhooks as the senders of the sources do. */
function signer({ receiving }: PosternConfig, secret: string, baseUrl: string) {
  return (source: string, { type, data = {}, id }: { type: string; data?: unknown; id?: string }) => {
    const scheme = receiving?.sources?.[source]?.name ?? (source === 'provider' ? 'hmac' : undefined)
    if (scheme === undefined) throw new Error(`the configuration has no source ${source}`)
    const sign = canSign(scheme) ? samples[sampleOf(scheme)] : undefined
    if (!sign) throw new Error(`the test kit cannot sign for ${scheme}: pass signed headers and body`)
    const now = Date.now()
    const url = `${baseUrl}/webhooks/${source}`
    // The signers write JSON, which knows no bigint.
    const exact = parseExactly(stringifyExactly(data) ?? 'null')
    const { headers, body } = sign({ type, secret, id: id ?? newId(now), now, data: exact, url })
    return { headers: { 'content-type': 'application/json', ...headers }, body }
  }
}

/** Removes `forwardTo`, which would use the network. */
function withoutForwarding(scheme: Scheme): Scheme {
  const { forwardTo, ...others } = scheme
  return forwardTo === undefined ? scheme : others
}

/** Schemes with key pairs: the kit cannot sign for them, so the configuration's public key is used. */
const withKeyPairs = new Set(['discord', 'sendgrid'])

function canSign(scheme: string): boolean {
  return Object.hasOwn(samples, sampleOf(scheme)) && !withKeyPairs.has(scheme)
}

/** The built-in source is plain HMAC, which the sample of `provider` signs. */
function sampleOf(scheme: string): string {
  return scheme === 'hmac' ? 'provider' : scheme
}

/** The result of a webhook. */
interface TestResult {
  /** The status of the response to the sender. */
  readonly httpStatus: number
  /** `refused` if the webhook was not accepted; `unhandled` if no handler takes its type, also for a source with `forwardTo`. */
  readonly status: 'processed' | 'unhandled' | 'failed' | 'refused'
  /** The error that a handler threw, with its stack, or why the webhook was rejected. */
  readonly error: string | undefined
  /** The events that the handlers emitted; none if they failed. */
  readonly emitted: readonly {
    id: string
    type: string
    /** As JSON.parse returns it: numbers beyond 2^53 are rounded. */
    data: unknown
    /** The data as JSON, with every digit that subscribers get. */
    json: string
  }[]
}

/** Waits for the outcome of the source's newest event after number `before`. A duplicate has no such event. */
async function outcomeOf(
  reader: Queryable,
  source: string,
  before: number,
): Promise<Omit<TestResult, 'httpStatus'>> {
  for (;;) {
    const row = await reader
      .selectFrom('event_queue')
      .leftJoin('handler_failures as failure', 'failure.event', 'event_queue.event')
      .select(['event_queue.event', 'status', 'attempts', 'failure.error'])
      .where('source', '=', source)
      .where('event_queue.event', '>', before)
      .orderBy('event_queue.event', 'desc')
      .executeTakeFirst()
    if (!row) return { status: 'processed', error: undefined, emitted: [] }
    const { event, error } = row
    const status = receivedStatus(row)
    if (status === 'processed' || status === 'unhandled' || status === 'failed')
      return { status, error: error ?? undefined, emitted: await emittedBy(reader, event) }
    await wait(2)
  }
}

async function emittedBy(reader: Queryable, event: number): Promise<TestResult['emitted']> {
  const rows = await reader
    .selectFrom('events as e')
    .innerJoin('idempotency_keys as k', 'k.event', 'e.id')
    .select(['e.event_id as id', 'e.type', 'e.payload'])
    .where('k.caused_by', '=', event)
    .orderBy('e.id')
    .execute()
  return rows.map(({ id, type, payload }) => {
    const { data } = parseExactly(Buffer.from(payload).toString('utf8')) as { data: unknown }
    const json = JSON.stringify(data)
    return { id, type, data: JSON.parse(json) as unknown, json }
  })
}
