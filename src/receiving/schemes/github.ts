import { identify, readObject } from './body.ts'
import { anyEqual, decodeDigest, digestOf } from './digest.ts'
import { createScheme, refuse, type Scheme, type SourceOptions } from './scheme.ts'

const prefix = 'sha256='

/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 over the body. The id is `X-GitHub-Delivery`, which a
 * redelivery repeats. The type is the event header, followed by `.action` where the body has one: `push`, `issues.opened`.
 * The webhook's content type must be `application/json`.
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
 */
export function github(options: SourceOptions): Scheme {
  return createScheme({
    name: 'github',
    options,
    typesHaveActions: true,
    verifier:
      (secrets) =>
      ({ rawBody, headers }) => {
        const header = headers['x-hub-signature-256']
        if (typeof header !== 'string' || !header.startsWith(prefix))
          return refuse('x-hub-signature-256 is missing')
        const received = decodeDigest(header.slice(prefix.length), 'hex')
        const expected = secrets.map((secret) => digestOf('sha256', secret, rawBody))
        if (!received || !anyEqual(expected, [received])) return refuse('x-hub-signature-256 does not match')
        const body = readObject(rawBody)
        if ('rejected' in body) return body
        const event = headers['x-github-event']
        const { action } = body.object
        const type =
          typeof event === 'string' && event !== '' && typeof action === 'string' && action !== ''
            ? `${event}.${action}`
            : event
        return identify(headers['x-github-delivery'], type)
      },
  })
}
