import { equalBytes } from '../../crypto/constant-time.ts'
import { bodyDigest, fromObject, identify, isObject, type JsonObject, valueAt } from './body.ts'
import { hmacCheck } from './hmac-check.ts'
import { answerText, refuse, type Scheme, type SourceOptions } from './scheme.ts'
import { createScheme } from './create-scheme.ts'

export interface MetaOptions extends SourceOptions {
  /** The verify token that was registered with the address. Without it, Meta's GET is refused. */
  verifyToken?: string | undefined
}

/**
 * Meta, for Facebook, Instagram, Messenger and WhatsApp: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 over the body with
 * the app secret. Its GET with `hub.challenge` is answered if `hub.verify_token` matches. The type is `object`, with the
 * field if all changes have the same one: `whatsapp_business_account.messages`. The id of a WhatsApp message that comes alone is that
 * of the message (`wamid.…`), because Meta repeats messages within other bodies. All other bodies have no id, so theirs is the
 * digest, which covers the times of the entries. No time is signed.
 * https://developers.facebook.com/docs/graph-api/webhooks/getting-started
 */
export function meta(options: MetaOptions): Scheme {
  const { verifyToken } = options
  return createScheme({
    name: 'meta',
    options,
    typesHaveActions: true,
    check: hmacCheck({ header: 'x-hub-signature-256', prefix: 'sha256=' }),
    ask:
      () =>
      ({ query }) => {
        const token = query.get('hub.verify_token') ?? ''
        if (!verifyToken || !equalBytes(Buffer.from(token), Buffer.from(verifyToken)))
          return refuse('hub.verify_token does not match')
        return answerText(query.get('hub.challenge') ?? '')
      },
    read: fromObject((body, { rawBody }) => {
      const { object, entry } = body
      const field = commonField(entry)
      return identify(
        messageId(body) ?? bodyDigest(rawBody),
        field === undefined ? object : `${String(object)}.${field}`,
      )
    }),
  })
}

/** The id of a WhatsApp message, if the body contains one message and nothing else. */
function messageId({ object, entry }: JsonObject): string | undefined {
  if (object !== 'whatsapp_business_account') return undefined
  const change = only(valueAt(only(entry), 'changes'))
  if (valueAt(change, 'field') !== 'messages' || valueAt(change, 'value.statuses') !== undefined)
    return undefined
  const id = valueAt(only(valueAt(change, 'value.messages')), 'id')
  return typeof id === 'string' && id !== '' ? id : undefined
}

function only(list: unknown): unknown {
  return Array.isArray(list) && list.length === 1 ? list[0] : undefined
}

function commonField(entries: unknown): string | undefined {
  const changes = Array.isArray(entries)
    ? entries.flatMap((entry: unknown) =>
        isObject(entry) && Array.isArray(entry['changes']) ? (entry['changes'] as unknown[]) : [],
      )
    : []
  const fields = new Set(changes.map((change) => (isObject(change) ? change['field'] : undefined)))
  const [field] = fields
  return fields.size === 1 && typeof field === 'string' && field !== '' ? field : undefined
}
