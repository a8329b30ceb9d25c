import { bodyDigest, headerOf, identify, readObject, valueAt } from './body.ts'
import { decodeDigest } from './digest.ts'
import { ed25519Key, isSignedBy } from './ed25519.ts'
import { answerEmpty, answerJson, refuse } from './results.ts'
import { createScheme } from './create-scheme.ts'
import type { Check, Reply, Scheme, TimedOptions, VerificationResult } from './scheme.ts'
import { defaultTolerance, checkTime, shownAt } from './timestamp.ts'

const noContent: Reply = { status: 204, body: '' }
const reply = (type: number): Reply => ({
  status: 200,
  body: JSON.stringify({ type }),
  contentType: 'application/json',
})

/** The kinds of interactions, each with the deferred response: the handler responds later through the API. */
const interactions: Readonly<Record<number, { name: string; reply: Reply }>> = {
  2: { name: 'application_command', reply: reply(5) },
  3: { name: 'message_component', reply: reply(6) },
  4: { name: 'autocomplete', reply: { ...reply(8), body: '{"type":8,"data":{"choices":[]}}' } },
  5: { name: 'modal_submit', reply: reply(5) },
}

/**
 * Discord, with the application's public key (hex) as the secret: `X-Signature-Ed25519` over `X-Signature-Timestamp` and the
 * body. Webhook events and interactions need separate sources. Webhook events: type `event.type`, such as
 * `APPLICATION_AUTHORIZED`; the id is the digest of the body, which contains the event's time; the response is 204.
 * Interactions: id `id`, type `application_command`, `message_component`, `autocomplete`, `modal_submit`; the response is
 * deferred, since handlers run later. Both send a PING, which is answered.
 * https://docs.discord.com/developers/events/webhook-events
 * https://docs.discord.com/developers/interactions/receiving-and-responding
 */
export function discord(options: TimedOptions): Scheme {
  return createScheme({
    name: 'discord',
    options,
    check: (secrets) => discordCheck(secrets, options.tolerance),
    read({ rawBody }): VerificationResult {
      const body = readObject(rawBody)
      if ('rejected' in body) return body
      const { type, event, id } = body.object
      if (type === 0) return answerEmpty(204)
      if (event !== undefined) return identify(bodyDigest(rawBody), valueAt(event, 'type'), noContent)
      if (type === 1) return answerJson({ type: 1 })
      const interaction = typeof type === 'number' ? interactions[type] : undefined
      return identify(
        id,
        interaction?.name ?? (typeof type === 'number' ? String(type) : type),
        interaction?.reply,
      )
    },
  })
}

function discordCheck(secrets: readonly string[], tolerance = defaultTolerance): Check {
  const keys = secrets.map((secret) => {
    const bytes = decodeDigest(secret, 'hex')
    if (bytes?.length !== 32)
      throw new TypeError("discord: the secret is the application's public key, 64 hex digits")
    return { secret, key: ed25519Key(bytes) }
  })
  return ({ rawBody, headers, now }) => {
    const signature = decodeDigest(headerOf(headers, 'x-signature-ed25519') ?? '', 'hex')
    const timestamp = headerOf(headers, 'x-signature-timestamp')
    if (!signature || timestamp === undefined)
      return refuse('x-signature-ed25519 or its timestamp is missing', 'signature-missing')
    const message = Buffer.concat([Buffer.from(timestamp), rawBody])
    const found = keys.find(({ key }) => isSignedBy(key, message, [signature]))
    if (!found) return refuse('x-signature-ed25519 does not match')
    return shownAt(found.secret, checkTime(timestamp, now, tolerance))
  }
}
