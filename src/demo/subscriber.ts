import { defaultBodyLimit } from '../http/body/reader.ts'
import { byService } from '../accounts/audit/audit.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Subscribers } from '../emitting/index.ts'
import type { App } from '../http/app.ts'
import type { Log } from '../telemetry/log.ts'
import { ifFound } from './if-found.ts'
import { standardWebhooks } from '../receiving/schemes/standard-webhooks.ts'

/** A fixed id, by which a restart finds the subscriber. */
export const sampleSubscriberId = '00000000-0000-7000-8000-000000000d30'
const path = '/demo/subscriber'
/** The text before the data, which is the last member of the payload. */
const dataKey = ',"data":'
/** Characters of the data in the log line. The text is not parsed, because that would round large numbers. */
const shown = 200

export interface SampleSubscriberParts {
  subscribers: Subscribers
  keyring: Keyring
  clock: Clock
  log: Log
}

export interface SampleSubscriber {
  /** Declares POST /demo/subscriber, which verifies webhooks and logs them. */
  routes(app: App): Promise<void>
  /** Registers the subscriber, or updates its address. Other settings, which a user may have changed, stay. */
  ensure(baseUrl: string): Promise<void>
}

/** A subscriber inside the service that shows emitted events in demo mode. Not for production. */
export function createSampleSubscriber(parts: SampleSubscriberParts): SampleSubscriber {
  const { subscribers, keyring, clock, log } = parts
  // Derived, not stored, because the receiving side needs it as well.
  const secret = keyring.sign('secret of the sample subscriber', 'demo').toString('base64')
  const scheme = standardWebhooks({ secret })

  return {
    async routes(app) {
      await app.register(async (scope: App) => {
        scope.removeAllContentTypeParsers()
        scope.bodies.parse(scope, ['*'], (_request, bytes, done) => done(null, bytes), defaultBodyLimit)
        scope.post(
          path,
          { config: { access: 'public' }, schema: { hide: true } },
          async ({ headers, body }, reply) => {
            const rawBody = body instanceof Buffer ? body : Buffer.alloc(0)
            const event = scheme.verify({ rawBody, headers, now: clock.now() })
            if (!('type' in event)) {
              log.warn('the sample endpoint rejected a webhook with an invalid signature')
              return reply.code(401).send()
            }
            const text = rawBody.toString()
            const start = text.indexOf(dataKey) + dataKey.length
            log.info(
              { eventId: event.id },
              `the sample subscriber received ${event.type} with a valid signature: ${text.slice(start, -1).slice(0, shown)}`,
            )
            return reply.code(204).send()
          },
        )
      })
    },

    async ensure(baseUrl) {
      const url = baseUrl + path
      const known = await ifFound(subscribers.get(sampleSubscriberId, 'all'))
      if (!known) {
        const description = 'Sample subscriber of demo mode; logs the events that it receives'
        await subscribers.create({ id: sampleSubscriberId, url, secret, description }, 'all', byService)
      } else if (known.url !== url) {
        await subscribers.change(sampleSubscriberId, { url }, 'all', byService)
      }
    },
  }
}
