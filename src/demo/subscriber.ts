import { byService } from '../accounts/audit.ts'
import { createHmac } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import { equalBytes } from '../crypto/constant-time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Subscribers } from '../emitting/index.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Log } from '../telemetry/log.ts'

/** Fixed, so that a restart finds the one that is there. */
export const sampleSubscriberId = '00000000-0000-7000-8000-000000000d30'
const path = '/demo/subscriber'
/** How far the signed timestamp may be off, in seconds. */
const tolerance = 300
/** Characters of the payload that the log line shows. */
const shown = 200

export interface SampleSubscriberParts {
  subscribers: Subscribers
  keyring: Keyring
  clock: Clock
  log: Log
}

export interface SampleSubscriber {
  /** POST /demo/subscriber: verifies what comes and tells of it on the log. */
  routes(app: App): Promise<void>
  /** Registers it, or moves it to where the service listens now. What a person changed of it stays. */
  ensure(baseUrl: string): Promise<void>
}

/** A subscriber inside the service, so that demo mode shows what emitting does. Not for production. */
export function createSampleSubscriber(parts: SampleSubscriberParts): SampleSubscriber {
  const { subscribers, keyring, clock, log } = parts
  // Derived, not stored: the receiving side needs it as well.
  const key = keyring.sign('secret of the sample subscriber', 'demo')

  return {
    async routes(app) {
      await app.register(async (scope: App) => {
        scope.removeAllContentTypeParsers()
        scope.bodies.parse(scope, ['*'], (_request, bytes, done) => done(null, bytes))
        scope.post(
          path,
          { config: { access: 'public' }, schema: { hide: true } },
          async ({ headers, body }, reply) => {
            const bytes = body instanceof Buffer ? body : Buffer.alloc(0)
            const event = verify(key, headers, bytes, clock.now())
            if (!event) {
              log.warn('the sample subscriber refused a webhook: its signature does not verify')
              return reply.code(401).send()
            }
            log.info(
              { eventId: event.id },
              `the sample subscriber got ${event.type}, signature verified: ${event.data.slice(0, shown)}`,
            )
            return reply.code(204).send()
          },
        )
      })
    },

    async ensure(baseUrl) {
      const url = new URL(path, baseUrl).href
      const known = await subscribers.get(sampleSubscriberId, 'all').catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'not-found') return undefined
        throw error
      })
      if (!known) {
        const secret = key.toString('base64')
        const description = 'Sample subscriber of demo mode, prints what it gets'
        await subscribers.create({ id: sampleSubscriberId, url, secret, description }, 'all', byService)
      } else if (known.url !== url) {
        await subscribers.change(sampleSubscriberId, { url }, 'all', byService)
      }
    },
  }
}

/** What precedes the data, the last member of the payload. */
const dataKey = ',"data":'

interface Received {
  id: string
  type: string
  /** As it was written: parsing would round great numbers. */
  data: string
}

/**
 * What every receiver does, in short (Standard Webhooks, "Verifying webhook authenticity"): the signature is over id,
 * timestamp and the raw body; any of those that the header holds may match; the timestamp must be recent.
 */
function verify(
  key: Uint8Array,
  headers: Readonly<Record<string, unknown>>,
  body: Buffer,
  now: number,
): Received | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given } = headers
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof given !== 'string') return undefined
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > tolerance) return undefined
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  const matches = given
    .split(' ')
    .some((one) => one.startsWith('v1,') && equalBytes(Buffer.from(one.slice(3), 'base64'), expected))
  if (!matches) return undefined
  const text = body.toString()
  const { type } = JSON.parse(text) as { type: string }
  return { id, type, data: text.slice(text.indexOf(dataKey) + dataKey.length, -1) }
}
