import { byService } from '../accounts/audit.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Subscribers } from '../emitting/index.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import type { Log } from '../telemetry/log.ts'
import { standardWebhooks } from '../receiving/schemes/standard-webhooks.ts'

/** Fixed, so that a restart finds the one that is there. */
export const sampleSubscriberId = '00000000-0000-7000-8000-000000000d30'
const path = '/demo/subscriber'
/** What precedes the data, the last member of the payload. */
const dataKey = ',"data":'
/** Characters of the data that the log line shows. It is the original text: parsing would round large numbers. */
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
  const secret = keyring.sign('secret of the sample subscriber', 'demo').toString('base64')
  const scheme = standardWebhooks({ secret })

  return {
    async routes(app) {
      await app.register(async (scope: App) => {
        scope.removeAllContentTypeParsers()
        scope.bodies.parse(scope, ['*'], (_request, bytes, done) => done(null, bytes))
        scope.post(
          path,
          { config: { access: 'public' }, schema: { hide: true } },
          async ({ headers, body }, reply) => {
            const rawBody = body instanceof Buffer ? body : Buffer.alloc(0)
            const event = scheme.verify({ rawBody, headers, now: clock.now() })
            if (!('type' in event)) {
              log.warn('the sample subscriber refused a webhook: its signature does not verify')
              return reply.code(401).send()
            }
            const text = rawBody.toString()
            const start = text.indexOf(dataKey) + dataKey.length
            log.info(
              { eventId: event.id },
              `the sample subscriber got ${event.type}, signature verified: ${text.slice(start, -1).slice(0, shown)}`,
            )
            return reply.code(204).send()
          },
        )
      })
    },

    async ensure(baseUrl) {
      const url = baseUrl + path
      const known = await subscribers.get(sampleSubscriberId, 'all').catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'not-found') return undefined
        throw error
      })
      if (!known) {
        const description = 'Sample subscriber of demo mode, prints what it gets'
        await subscribers.create({ id: sampleSubscriberId, url, secret, description }, 'all', byService)
      } else if (known.url !== url) {
        await subscribers.change(sampleSubscriberId, { url }, 'all', byService)
      }
    },
  }
}
