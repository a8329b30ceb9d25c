import { equalBytes } from '../../crypto/secrets.ts'
import { parseExactly } from '../../json/exact.ts'
import { bodyDigest, eventsOf, fromObject, identify, type JsonObject, readJson, valueAt } from './body.ts'
import { preset } from './preset.ts'
import { type Accepted, answerText, refuse, type Rejected, type SourceOptions } from './scheme.ts'

export interface MetaOptions extends SourceOptions {
  /** The verify token that was registered with the address. Without it, Meta's GET is refused. */
  verifyToken?: string | undefined
}

/**
 * Meta, for Facebook, Instagram, Messenger and WhatsApp: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 over the body with
 * the app secret. Its GET with `hub.challenge` is answered if `hub.verify_token` matches. The type is `object`, with the
 * field if all changes have the same one: `whatsapp_business_account.messages`. Each WhatsApp message of
 * a body that has nothing else is an event of its own, and its id that of the message (`wamid.…`), because Meta repeats messages within
 * other bodies. All other bodies have no id, so theirs is the digest, which covers the times of the entries. No time is signed.
 * https://developers.facebook.com/docs/graph-api/webhooks/getting-started
 */
export const meta = preset<MetaOptions>('meta', {
  typesHaveActions: true,
  signed: { header: 'x-hub-signature-256', prefix: 'sha256=' },
  ask({ query }, _, { verifyToken }) {
    const token = query.get('hub.verify_token') ?? ''
    if (!verifyToken || !equalBytes(Buffer.from(token), Buffer.from(verifyToken)))
      return refuse('hub.verify_token does not match')
    return answerText(query.get('hub.challenge') ?? '')
  },
  read: fromObject((body, { rawBody }) => {
    const alone = messagesOf(body)
    if (alone.length < 2) return readBody(body, rawBody)
    const exact = readJson(rawBody, parseExactly)
    return 'rejected' in exact
      ? exact
      : eventsOf(messagesOf(exact.value as JsonObject), (one) => readBody(one, rawBody))
  }),
})

function readBody(body: unknown, rawBody: Buffer): Accepted | Rejected {
  const [object, entry] = [valueAt(body, 'object'), valueAt(body, 'entry')]
  const field = commonField(entry)
  const message = messagesOf(body as JsonObject)[0]
  return identify(
    valueAt(message, messagePath) ?? bodyDigest(rawBody),
    field === undefined ? object : `${String(object)}.${field}`,
  )
}

const messagePath = 'entry.0.changes.0.value.messages.0.id'

/** Messages that are separated at most: each gets a copy of what the body has beside them. */
const mostMessages = 50

/** The WhatsApp messages of a body, each in a body of its own. None if the body contains anything else. */
function messagesOf({ object, entry: entries, ...rest }: JsonObject): JsonObject[] {
  if (object !== 'whatsapp_business_account') return []
  const found: JsonObject[] = []
  for (const entry of listOf(entries))
    for (const change of listOf(valueAt(entry, 'changes'))) {
      const value = valueAt(change, 'value')
      const messages = listOf(valueAt(value, 'messages'))
      const isOther = valueAt(change, 'field') !== 'messages' || valueAt(value, 'statuses') !== undefined
      if (isOther || messages.length === 0 || found.length + messages.length > mostMessages) return []
      for (const message of messages) {
        const alone = { ...(change as JsonObject), value: { ...(value as JsonObject), messages: [message] } }
        found.push({ ...rest, object, entry: [{ ...(entry as JsonObject), changes: [alone] }] })
      }
    }
  return found.every((one) => typeof valueAt(one, messagePath) === 'string') ? found : []
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function commonField(entries: unknown): string | undefined {
  const changes = listOf(entries).flatMap((entry) => listOf(valueAt(entry, 'changes')))
  const [field, ...others] = new Set(changes.map((change) => valueAt(change, 'field')))
  return others.length === 0 && typeof field === 'string' && field !== '' ? field : undefined
}
