import type { Keyring } from '../crypto/keyring.ts'
import { minute } from '../telemetry/history/rows.ts'
import type { Database } from '../storage/database.ts'
import type { Receiving, ReceivingConfig } from '../receiving/index.ts'
import { signFor } from '../receiving/samples/sign-for.ts'
import { hmac } from '../receiving/schemes/hmac.ts'
import type { Scheme } from '../receiving/schemes/scheme.ts'
import { sampleCustomer } from './sample-customer.ts'

/** The source of the sample events. It exists only in demo mode. */
export const sampleSource = 'shop'
/** All sample events have types that begin with it. */
export const sampleTypes = 'sample.'

/** Type and data of the sample events. Their ids are `sample-1` and so on. */
const samples: readonly (readonly [type: string, data: Readonly<Record<string, unknown>>])[] = [
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

/** The source and the handlers of the sample events: one that emits to the sample customer, and one that fails. */
export function sampleReceiving(keyring: Keyring): ReceivingConfig {
  return {
    sources: { [sampleSource]: sampleScheme(keyring) },
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

export interface SampleEventParts {
  keyring: Keyring
  receiving: Pick<Receiving, 'receiveSample'>
  /** The public address of the service. */
  baseUrl: string
  /** Milliseconds since 1970. */
  now: number
}

/** Receives the sample events, which are signed, verified and stored like webhooks. */
export async function receiveSampleEvents(parts: SampleEventParts): Promise<void> {
  const { keyring, receiving, baseUrl, now } = parts
  const scheme = sampleScheme(keyring)
  const url = `${baseUrl}/webhooks/${sampleSource}`
  for (const [index, [type, data]] of samples.entries()) {
    const signed = signFor(scheme, { type, id: idOf(index), now, data, url })
    if (!signed) throw new Error('the sample events could not be signed')
    const { body, headers } = signed
    await receiving.receiveSample(sampleSource, { rawBody: Buffer.from(body), headers, url })
  }
}

/**
 * The time until which counts of handlers and deliveries may be those of the sample events, in milliseconds since 1970; undefined
 * without sample events.
 */
export async function sampleEventsUntil({ reader }: Pick<Database, 'reader'>): Promise<number | undefined> {
  const last = await reader
    .selectFrom('event_queue')
    .innerJoin('events', 'events.id', 'event_queue.event')
    .select('events.created_at')
    .where('event_queue.source', '=', sampleSource)
    .where('event_queue.event_id', '=', idOf(samples.length - 1))
    .executeTakeFirst()
  return last && last.created_at + minute
}

const idOf = (index: number): string => `sample-${index + 1}`

/** The header of the sample source's signature. */
export const signatureHeader = 'x-signature'

export const sampleScheme = (keyring: Keyring): Scheme => ({
  ...hmac({ header: signatureHeader, secret: sampleSecret(keyring) }),
  secretFrom: 'the secret that demo mode generates for this sample source',
})

/** Derived, so that each start has the same one. */
export function sampleSecret(keyring: Keyring): string {
  return keyring.sign('secret of the sample source', 'demo').toString('base64')
}
