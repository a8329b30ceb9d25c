import { isoTime } from '../../runtime/iso-time.ts'
import type { Row } from '../../storage/tables.ts'
import { isSensitiveHeader } from '../../telemetry/printable.ts'
import { openHeaders } from '../subscribers/credentials.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import { hour, summarize } from '../subscribers/health.ts'
import { readMetadata } from '../subscribers/metadata.ts'
import { mostOlderKeys } from '../subscribers/secrets.ts'
import type { SubscriberChange } from '../subscribers/subscriber-body.ts'
import { notFound, type SvixCall, type SvixOperations, invalidField, SvixError } from './call.ts'
import { allEventTypes } from './event-types.ts'
import { pageOf, placeOf, readPage } from './pages.ts'
import { endpointId, newMessageId, readEndpointId } from './ids.ts'

/** The schedule of Svix's documentation: milliseconds before each attempt. */
export const retrySchedule = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map(
  (seconds) => seconds * 1000,
)

/** v1.endpoint.*, except for those that start jobs. */
export const endpointOperations: SvixOperations = {
  'v1.endpoint.list': list,
  'v1.endpoint.create': create,
  'v1.endpoint.get': async ({ endpoint }) => viewEndpoint(endpoint),
  async 'v1.endpoint.upsert'(call) {
    const before = await call.parts.subscribers.find(call.owner, call.params['endpoint_id']!)
    if (before) return change(Object.assign(call, { endpoint: before }), 'all')
    call.status = 201
    return create(call)
  },
  'v1.endpoint.patch': (call) => change(call, 'given'),
  'v1.endpoint.delete': ({ endpoint, reach, origin, parts }) =>
    parts.subscribers.remove(endpoint.id, reach, origin),
  'v1.endpoint.get-secret': async ({ endpoint, origin, parts }) => ({
    key: await parts.subscribers.revealSecret(endpoint.id, origin),
  }),
  'v1.endpoint.rotate-secret': rotate,
  async 'v1.endpoint.get-headers'({ endpoint, parts }) {
    const headers = Object.entries(openHeaders(parts.keyring, endpoint))
    const sensitive = headers.map(([name]) => name).filter(isSensitiveHeader)
    return { headers: Object.fromEntries(headers.filter(([name]) => !isSensitiveHeader(name))), sensitive }
  },
  async 'v1.endpoint.set-headers'(call) {
    await set(call, { headers: checkHeaders(call.body.headers, 'value_error.jsondecode') })
  },
  async 'v1.endpoint.patch-headers'(call) {
    const { headers: given, deleteHeaders = [] } = call.body
    checkHeaders(given)
    const headers: Record<string, string | null> = { ...openHeaders(call.parts.keyring, call.endpoint) }
    for (const name of deleteHeaders) headers[name.toLowerCase()] = null
    for (const [name, value] of Object.entries<string | null>(given)) headers[name.toLowerCase()] = value
    const left = Object.entries(headers).filter((one): one is [string, string] => one[1] !== null)
    await set(call, { headers: Object.fromEntries(left) })
  },
  'v1.endpoint.transformation.get': async ({ endpoint: { transformation: code, updated_at } }) => ({
    code,
    enabled: code !== null,
    variables: {},
    updatedAt: isoTime(updated_at),
  }),
  'v1.endpoint.transformation.patch': transform,
  'v1.endpoint.get-stats': countDeliveries,
  'v1.endpoint.send-example': sendExample,
}

/** An endpoint by its id or uid. @throws SvixError 404, also for an endpoint of another application */
export async function endpointOf({ owner, parts }: SvixCall, text: string): Promise<Row<'subscribers'>> {
  const row = await parts.subscribers.find(owner, text)
  if (!row) throw notFound()
  return row
}

/** The uid of an endpoint that was imported without one is its former id, so requests with that id still find it. */
const hasFormerId = ({ uid }: Row<'subscribers'>): boolean => uid?.startsWith('ep_') ?? false

/** An endpoint with the field names of all library versions: 1.x reads `filterTypes` and `rateLimit`. */
export function viewEndpoint(row: Row<'subscribers'>): object {
  const types = JSON.parse(row.event_types) as string[]
  const eventTypes = types.includes('*') ? null : types
  // Clients read an unsigned 16-bit integer. Postern's own API also allows fractions and larger rates.
  const rate = row.rate_limit === null ? null : Math.min(65_535, Math.ceil(row.rate_limit))
  return {
    id: endpointId(row.id),
    uid: hasFormerId(row) ? null : row.uid,
    url: row.url,
    description: row.description ?? '',
    disabled: row.status === 'disabled',
    eventTypes,
    filterTypes: eventTypes,
    channels: row.channels === null ? null : (JSON.parse(row.channels) as string[]),
    throttleRate: rate,
    rateLimit: rate,
    version: 1,
    metadata: readMetadata(row.metadata),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  }
}

function list({ owner, query, parts }: SvixCall) {
  const asked = readPage(query)
  const read = async (behind: Pick<Row<'subscribers'>, 'id'> | undefined, count: number) => {
    const rows = await parts.database.slowReader
      .selectFrom('subscribers')
      .selectAll()
      .where('owner', '=', owner)
      .$if(behind !== undefined, (all) => all.where('id', asked.ascending ? '>' : '<', behind!.id))
      .orderBy('id', asked.ascending ? 'asc' : 'desc')
      .limit(count)
      .execute()
    return { rows }
  }
  const find = (text: string) => placeOf(readEndpointId(text))
  return pageOf(asked, { find, idOf: ({ id }) => endpointId(id), read }, (rows) => rows.map(viewEndpoint))
}

async function create(call: SvixCall): Promise<object> {
  const { body, owner, reach, origin, parts } = call
  const secret = readSecret(body.secret, 'secret')
  const settings = await readSettings(parts, body, 'all')
  const scheme = secret && schemeOf(secret)
  const { row } = await parts.subscribers.create(
    {
      ...settings,
      ...(scheme && { signing: scheme }),
      ...(body.headers && { headers: checkHeaders(body.headers, 'value_error.jsondecode') }),
      owner,
      secret,
      status: body.disabled ? 'disabled' : undefined,
      retrySchedule,
      signatureHeaders: 'svix',
      body: 'data',
    },
    reach,
    origin,
  )
  return viewEndpoint(row)
}

async function change(call: SvixCall, which: Which): Promise<object> {
  const { body, endpoint } = call
  const settings = await readSettings(call.parts, body, which)
  if (!settings.uid && hasFormerId(endpoint)) delete settings.uid
  const disabled = (body.disabled as boolean | undefined) ?? (which === 'all' ? false : undefined)
  const wasDisabled = endpoint.status === 'disabled'
  // A paused endpoint is not disabled, and stays paused.
  if (disabled !== undefined && disabled !== wasDisabled) settings.status = disabled ? 'disabled' : 'active'
  return viewEndpoint(await set(call, settings))
}

/** Changes these settings of the call's endpoint. */
async function set(
  { endpoint, reach, origin, parts }: SvixCall,
  settings: SubscriberChange,
): Promise<Row<'subscribers'>> {
  return (await parts.subscribers.change(endpoint.id, settings, reach, origin)).row
}

/** `all`: absent settings get their defaults. `given`: they do not change. */
type Which = 'all' | 'given'

const longestDescription = 1000
// oxlint-disable-next-line no-control-regex
const writable = /^[^\0-\u0008\ud800-\udfff]*$/u

/** Reads a body's settings, and checks limits that the document does not declare. @throws SvixError 422 */
async function readSettings(
  parts: EmittingRouteParts,
  body: SvixCall['body'],
  which: Which,
): Promise<SubscriberChange> {
  const absent = which === 'all' ? null : undefined
  const read = <T>(name: string, former: string = name): T | null | undefined =>
    (body[name] ?? body[former] ?? (body[name] === null || body[former] === null ? null : absent)) as T
  const eventTypes = read<string[]>('eventTypes', 'filterTypes')
  const channels = read<string[]>('channels')
  const description = read<string>('description')
  const rateLimit = read<number>('throttleRate', 'rateLimit')
  const uid = read<string>('uid')
  if (eventTypes) await checkEventTypes(parts, eventTypes)
  if (channels && (channels.length === 0 || channels.length > 10))
    throw invalidField(['channels'], 'There must be 1 to 10 channels, or null.')
  if (rateLimit === 0) throw invalidField(['throttle_rate'], 'The rate must be at least 1.')
  if (body.version === 0) throw invalidField(['version'], 'The version must be at least 1.')
  if (uid?.startsWith('ep_')) throw invalidField(['uid', '__all__'], 'A uid must not begin with `ep_`.')
  if (description && (!writable.test(description) || description.length > longestDescription))
    throw invalidField(
      ['description'],
      `The description must be at most ${longestDescription} characters without control characters.`,
    )
  return {
    ...(body.url !== undefined && { url: URL.parse(body.url as string)?.href ?? (body.url as string) }),
    ...(eventTypes !== undefined && { eventTypes: eventTypes ?? ['*'] }),
    channels: channels && [...new Set(channels)],
    description,
    rateLimit,
    uid,
    metadata: read<Record<string, string>>('metadata'),
  }
}

/** Archived types are rejected. */
async function checkEventTypes(parts: EmittingRouteParts, types: readonly string[]): Promise<void> {
  if (types.length === 0)
    throw invalidField(['event_types'], 'There must be at least one event type, or null.')
  const shown = (await allEventTypes(parts, types)).filter(({ archived }) => !archived)
  const known = new Set(shown.map(({ type }) => type))
  const missing = types.filter((type) => !known.has(type))
  if (missing.length > 0)
    throw invalidField(['eventTypes'], `The following event types don't exist: ${missing.join(', ')}`)
}

const schemeOf = (secret: string): 'v1' | 'v1a' => (secret.startsWith('whsk_') ? 'v1a' : 'v1')

/** Bytes of a symmetric secret. */
const shortestSecret = 24
const longestSecret = 75

/** @throws SvixError 422. A private key is checked where it is stored */
function readSecret(text: string | null | undefined, field: string): string | undefined {
  if (!text) return undefined
  if (!/^wh(sec|sk)_/.test(text)) throw invalidField([field], 'invalid prefix', 'value_error.jsondecode')
  const { length } = Buffer.from(text.slice(6), 'base64')
  if (text.startsWith('whsec_') && (length < shortestSecret || length > longestSecret))
    throw invalidField(['key', '__all__'], `A secret must have ${shortestSecret} to ${longestSecret} bytes.`)
  return text
}

/** Seconds for which the old secret also signs. */
const defaultGracePeriod = 86_400

async function rotate(call: SvixCall): Promise<object | undefined> {
  const { database, secrets, subscribers, clock } = call.parts
  const { key, gracePeriodSeconds } = call.body
  const secret = readSecret(key, 'key')
  const { id } = call.endpoint
  const overlap = (gracePeriodSeconds ?? defaultGracePeriod) * 1000
  const keys = await secrets.describe(database.reader, id, clock.now())
  if (overlap > 0 && keys.length > mostOlderKeys)
    throw new SvixError(
      400,
      'limit_reached',
      `There can be at most ${mostOlderKeys} older secrets at a time. Wait until one expires.`,
    )
  const scheme = secret === undefined ? (keys[0]?.scheme ?? 'v1') : schemeOf(secret)
  const rotation = { overlap, secret, scheme, keepsEnds: true }
  const shown = await subscribers.rotate(id, call.reach, rotation, call.origin)
  return isFirstLibrary(call) ? undefined : { key: shown.secret ?? shown.publicKey }
}

/** Whether a library of version 1.x calls. It gets no body from a rotation: Java's fails if there is one, and the 2.x of Python and Rust fail without one. */
const isFirstLibrary = ({ request }: SvixCall) =>
  request.headers['user-agent']?.startsWith('svix-libs/1.') ?? false

/** Headers that Svix rejects, in addition to those that Postern rejects for every endpoint. */
const forbidden =
  /^(age|cache-control|clear-site-data|expires|pragma|trailers|warning)$|^(x-)?svix-|^x-(amzn?-|goog-|google|gfe|azure-|fd-)/i

function checkHeaders(headers: Record<string, string>, type?: string): Record<string, string> {
  const name = Object.keys(headers).find((one) => forbidden.test(one))
  const field = type === undefined ? ['headers', '__all__'] : ['headers']
  if (name !== undefined) throw invalidField(field, `The header ${name} cannot be set.`, type)
  return headers
}

async function transform(call: SvixCall): Promise<void> {
  const { code, enabled, variables } = call.body
  if (Object.keys(variables ?? {}).length > 0)
    throw invalidField(['variables'], 'Transformations have no variables. Write the values into the code.')
  const transformation = code === undefined ? call.endpoint.transformation : (code as string | null)
  if (enabled === false && transformation !== null)
    throw invalidField(
      ['enabled'],
      'A transformation with code is always enabled. To disable it, set `code` to null.',
    )
  await set(call, { transformation })
}

const day = 24 * hour
/** Milliseconds by which clocks may differ. */
const tolerance = 5 * 60_000

async function countDeliveries({ endpoint, query, parts }: SvixCall): Promise<object> {
  const { clock, health } = parts
  const { until = clock.now(), since = until - 28 * day } = query
  if (until > clock.now()) throw badRange("'until' cannot be in the future")
  if (until - since > 28 * day + tolerance)
    throw badRange("'since' cannot be more than 28 days before 'until'")
  // Attempts are counted by the hour.
  const hours = await health.read([endpoint.id], Math.floor(since / hour) * hour, until)
  const { delivered, failed } = summarize(hours)
  return { success: delivered, pending: 0, sending: 0, fail: failed, canceled: 0 }
}

async function sendExample({ body, endpoint, origin, parts }: SvixCall): Promise<object> {
  const { eventType: type, exampleIndex = 0 } = body
  const data = type === 'svix.ping' ? { success: true } : await exampleOf(parts, type, exampleIndex)
  const now = parts.clock.now()
  const id = newMessageId(now)
  await parts.testEvents.send(endpoint.id, 'all', origin, { event: { id, type, data } })
  return { id, eventId: null, eventType: type, payload: {}, channels: null, timestamp: isoTime(now) }
}

const badRange = (detail: string): SvixError => new SvixError(400, 'invalid_range', detail)

/** @throws SvixError 404 for an unknown type, 400 for one without examples */
async function exampleOf(parts: EmittingRouteParts, type: string, index: number): Promise<unknown> {
  const found = (await allEventTypes(parts, [type])).find((one) => one.type === type)
  if (!found) throw notFound()
  const schema = found.schemas?.['1'] as { examples?: unknown } | undefined
  const example: unknown = Array.isArray(schema?.examples) ? schema.examples[index] : undefined
  if (example === undefined)
    throw new SvixError(400, 'invalid_scheme', 'Unable to generate example message from event-type schema')
  return example
}
