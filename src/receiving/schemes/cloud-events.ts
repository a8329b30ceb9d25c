import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { jsonText, parseExactly } from '../../json/exact.ts'
import {
  bodyDigest,
  eventsOf,
  headerOf,
  identify,
  isObject,
  json,
  type JsonObject,
  queryParameter,
  readJson,
  valueAt,
} from './body.ts'
import { createScheme } from './create-scheme.ts'
import { comparedCheck, repeatsCredential } from './credentials.ts'
import { jwtCheck, type JwtOptions, tokenCaution } from './jwt.ts'
import {
  type Accepted,
  answerJson,
  type Delivery,
  malformed,
  type Rejected,
  type Scheme,
  type SourceOptions,
  type VerificationResult,
} from './scheme.ts'

/**
 * Either a secret, which the sender repeats as a bearer token or as `access_token` in the query, or tokens of an issuer, as of `jwt()`.
 */
export type CloudEventsOptions = SourceOptions | Omit<JwtOptions, 'token' | 'id' | 'type' | 'mediaTypes'>

const cloudEvent = 'application/cloudevents+json'

/**
 * CloudEvents 1.0 by HTTP, in the structured, binary and batched modes. The payload is the event as JSON in all of them, and each event of a
 * batch is an event of its own. The id is `source` and `id`, which together are unique; the type is `type`. Senders sign nothing. The handshake
 * before the first event, an OPTIONS with `WebHook-Request-Origin`, is answered.
 * https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md
 * https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
 */
export function cloudEvents(options: CloudEventsOptions): Scheme {
  return make('cloud-events', [], { signedBody: 'plain', ...options })
}

/**
 * Azure Event Grid, with its own schema or that of CloudEvents. In its own, the id is `topic` and `id`, the type `eventType`, and the
 * validation event is answered with its code.
 * https://learn.microsoft.com/azure/event-grid/end-point-validation-event-grid-events-schema
 * https://learn.microsoft.com/azure/event-grid/security-authentication
 */
export function eventGrid(options: CloudEventsOptions): Scheme {
  return make('event-grid', undefined, options)
}

function make(name: string, mediaTypes: string[] | undefined, options: CloudEventsOptions): Scheme {
  const isIssued = 'issuer' in options
  const isGrid = name === 'event-grid'
  return createScheme({
    name,
    options: isIssued ? { ...options, secret: options.audience } : options,
    isPublic: isIssued,
    mediaTypes,
    allowsOrigins: true,
    caution: !isIssued
      ? repeatsCredential
      : isGrid && options.claims === undefined
        ? 'accepts tokens of every application of the tenant: set `claims`, such as `{ appid: … }`'
        : tokenCaution(options),
    check: isIssued
      ? jwtCheck(options)
      : comparedCheck(
          'authorization or access_token',
          ({ headers, url = '' }) =>
            /^bearer +(\S+)$/i.exec(headerOf(headers, 'authorization') ?? '')?.[1] ??
            queryParameter(url, 'access_token'),
        ),
    read: (delivery) => readRequest(delivery, isGrid),
  })
}

function readRequest(delivery: Delivery, isGrid: boolean): VerificationResult {
  const { rawBody, headers } = delivery
  const isStructured = /^application\/cloudevents/i.test(headers['content-type'] ?? '')
  if (!isStructured && 'ce-specversion' in headers) return readBinary(delivery)
  const body = readJson(rawBody, parseExactly)
  if ('rejected' in body) return body
  if (!Array.isArray(body.value)) return readEvent(body.value, rawBody)
  const [first] = body.value as unknown[]
  const code = isGrid && valueAt(first, 'eventType') === validation && valueAt(first, 'data.validationCode')
  if (typeof code === 'string' && code.length <= 256) return answerJson({ validationResponse: code })
  return eventsOf(body.value, (event) => readEvent(event))
}

const validation = 'Microsoft.EventGrid.SubscriptionValidationEvent'

/**
 * Reads an event in JSON. Only CloudEvents have a `specversion`; others are of Event Grid's own schema.
 * @param bytes its JSON, if the request contains no other event
 */
function readEvent(event: unknown, bytes?: Buffer): Accepted | Rejected {
  if (!isObject(event)) return malformed('The event is not a JSON object.')
  const { specversion, source, topic = '', type, eventType } = event
  const isCloudEvent = specversion !== undefined
  const origin = isCloudEvent ? source : topic
  if (typeof origin !== 'string' || (isCloudEvent && origin === ''))
    return malformed('The event has no `source` that is a string.')
  const named = identify(event['id'], isCloudEvent ? type : eventType)
  if ('rejected' in named) return named
  const [id, isPlain] = [`${origin} ${named.id}`, !origin.includes(' ')]
  const found = identify(
    isPlain && id.length <= 256 ? id : bodyDigest(JSON.stringify([origin, named.id])),
    named.type,
  )
  if ('rejected' in found) return found
  const mediaType = isCloudEvent ? cloudEvent : json
  return { ...found, content: { bytes: bytes ?? Buffer.from(JSON.stringify(event)), type: mediaType } }
}

/** Reads an event whose attributes are headers, and whose data is the body. */
function readBinary({ rawBody, headers }: Delivery): VerificationResult {
  const attributes = attributesOf(headers)
  if (!attributes) return malformed('A ce- header has an invalid percent-encoding.')
  const event = readEvent(attributes)
  if ('rejected' in event || rawBody.length === 0) return event
  const mediaType = headers['content-type']
  const isJson = mediaType === undefined || /^[^;]*[/+]json\s*(?:;|$)/i.test(mediaType)
  let data: string
  if (isJson) {
    const body = readJson(rawBody)
    if ('rejected' in body) return body
    data = `"data":${jsonText(rawBody)}`
  } else if (isUtf8(rawBody)) data = `"data":${JSON.stringify(rawBody.toString())}`
  else data = `"data_base64":"${rawBody.toString('base64')}"`
  const text = JSON.stringify({
    ...attributes,
    ...(mediaType !== undefined && { datacontenttype: mediaType }),
  })
  return { ...event, content: { bytes: Buffer.from(`${text.slice(0, -1)},${data}}`), type: cloudEvent } }
}

/** Names of attributes that are headers; of the two others, one is the body and one its media type. */
const attributeHeader = /^ce-(?!(?:data|datacontenttype)$)[a-z0-9]+$/

function attributesOf(headers: IncomingHttpHeaders): JsonObject | undefined {
  const attributes: JsonObject = {}
  try {
    for (const [name, value] of Object.entries(headers))
      if (attributeHeader.test(name) && typeof value === 'string')
        attributes[name.slice(3)] = decodeURIComponent(
          /^".*"$/.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value,
        )
  } catch {
    return undefined
  }
  return attributes
}
