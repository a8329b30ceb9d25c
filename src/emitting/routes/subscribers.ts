import type { Tx } from '../../storage/database.ts'
import { type Static, Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { type App, route } from '../../http/app.ts'
import { readChoice, pageParameters, readPageRequest, pageSchema, viewPage } from '../../paging/parameters.ts'
import type { Reach } from '../events/event.ts'
import { readSettings, Secret } from '../subscribers/subscriber-body.ts'
import { lastDays, stateOf, subscriberStates, type Summary, summaryFields } from '../subscribers/health.ts'
import { type Area, type EmittingRouteParts, readSubscriberId, searchable, subscriberOf } from './area.ts'
import {
  closedObject,
  DateTime,
  dateTime,
  IdParams,
  noContent,
  nullable,
  optionalText,
} from '../../http/schemas/schemas.ts'
import type { Row } from '../../storage/tables.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { type Condition, ConditionBody } from '../subscribers/conditions.ts'
import { redactedValue } from '../../telemetry/printable.ts'
import {
  AuthBody,
  openCredentials,
  openHeaders,
  SecretsBody,
  showCredentials,
  TlsBody,
} from '../subscribers/credentials.ts'
import {
  readRequestOptions,
  requestDefaults,
  requestOptions,
  showCustomHeaders,
} from '../subscribers/request-options.ts'
import { Metadata, readMetadata } from '../subscribers/metadata.ts'
import { destinationIn, isOpenToOwners } from '../subscribers/destinations.ts'
import { disablesAt } from '../dispatch/operational-events.ts'
import { KeyView } from '../subscribers/secrets.ts'

const { delivered, failed, successRate, p99 } = summaryFields

const SubscriberView = closedObject({
  id: Type.String(),
  url: Type.String({ description: '`destination://` and its name for a destination' }),
  description: nullable(Type.String()),
  eventTypes: Type.Array(Type.String()),
  status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
  state: Type.Enum(subscriberStates, {
    description:
      'One word for all: disabled, paused, failing (see `failingSince`), idle (active, without an attempt in the last day), active',
  }),
  lastDay: closedObject(
    { delivered, failed, successRate, p99 },
    { description: 'The last 24 hours, and the hour in which they begin' },
  ),
  disabledReason: nullable(Type.String()),
  retrySchedule: nullable(
    Type.Array(Type.Number(), { description: 'Seconds before each attempt; null: the service’s default' }),
  ),
  timeout: nullable(Type.Number({ description: 'Seconds for one attempt; null: the service’s default' })),
  rateLimit: nullable(Type.Number({ description: 'Attempts per second; null: no limit' })),
  concurrency: nullable(Type.Integer({ description: 'Attempts at the same time; null: 10' })),
  headers: Type.Record(Type.String(), Type.String(), {
    description: `Additional headers; credentials are shown as ${redactedValue}`,
  }),
  auth: nullable(AuthBody),
  tls: nullable(TlsBody),
  destination: nullable(Type.String(), 'Its destination; null: HTTP'),
  settings: nullable(Type.Record(Type.String(), Type.Unknown()), 'Settings of the destination'),
  secrets: nullable(SecretsBody),
  transformation: nullable(Type.String(), 'JavaScript that changes each request'),
  ...Type.Required(Type.Object(requestOptions)).properties,
  ordered: Type.Boolean(),
  signing: Type.Union([Type.Literal('v1'), Type.Literal('v1a'), Type.Literal('both')]),
  httpSignature: Type.Boolean(),
  conditions: Type.Array(ConditionBody),
  channels: Type.Array(Type.String(), { description: 'Empty: all events' }),
  uid: nullable(Type.String(), 'Your own id; not shown in the portal'),
  metadata: nullable(Metadata, 'Not shown in the portal'),
  owner: nullable(Type.String()),
  ownerName: nullable(Type.String({ description: 'The display name of the owner' })),
  operational: Type.Boolean(),
  failingSince: nullable(dateTime('Since when deliveries fail; null while they succeed')),
  disablesAt: nullable(dateTime('When the next failure disables it, unless a delivery succeeds before')),
  createdAt: DateTime,
  updatedAt: DateTime,
})

/** New keys, which are shown once. */
const NewKeysView = {
  secret: optionalText('whsec_…: verifies `v1` signatures. Shown only once.'),
  publicKey: optionalText('whpk_…: verifies `v1a` signatures.'),
}

function viewSubscriber(
  row: Row<'subscribers'>,
  { configuration, keyring, destinations }: EmittingRouteParts,
  { reachesAll }: Area,
  { lastDay, ownerName }: { lastDay: Summary; ownerName: string | null },
): Static<typeof SubscriberView> {
  // What owners must not see of a destination that only admins register.
  const hidesSettings = !reachesAll && !isOpenToOwners(destinations, row)
  const failing = { failingSince: row.failing_since, warnedAt: row.warned_at }
  const mayEnd = row.status === 'active' && row.operational === 0
  const end = mayEnd ? disablesAt(failing, configuration.emitDisableAfter) : null
  const { settings = null, ...options } = readRequestOptions(row.request)
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    eventTypes: JSON.parse(row.event_types) as string[],
    status: row.status,
    state: stateOf(row, lastDay),
    lastDay,
    disabledReason: row.disabled_reason,
    retrySchedule:
      row.retry_schedule === null
        ? null
        : (JSON.parse(row.retry_schedule) as number[]).map((ms) => ms / 1000),
    timeout: row.timeout_ms === null ? null : row.timeout_ms / 1000,
    rateLimit: row.rate_limit,
    concurrency: row.concurrency,
    headers: showCustomHeaders(openHeaders(keyring, row)),
    ...showCredentials(hidesSettings ? {} : openCredentials(keyring, row)),
    destination: destinationIn(row.url),
    settings: hidesSettings ? null : settings,
    transformation: row.transformation,
    ...requestDefaults,
    ...options,
    ordered: row.ordered === 1,
    signing: row.signing,
    httpSignature: row.http_signature === 1,
    conditions: row.conditions === null ? [] : (JSON.parse(row.conditions) as Condition[]),
    channels: row.channels === null ? [] : (JSON.parse(row.channels) as string[]),
    // For the operator's programs.
    uid: reachesAll ? row.uid : null,
    metadata: reachesAll ? readMetadata(row.metadata) : null,
    owner: row.owner,
    ownerName,
    operational: row.operational === 1,
    failingSince: isoTimeOrNull(row.failing_since),
    disablesAt: isoTimeOrNull(end),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  }
}

const tags = ['subscribers']

const WithKeys = closedObject({ ...SubscriberView.properties, ...NewKeysView })

const Registered = closedObject({
  ...WithKeys.properties,
  testDeliveryId: Type.Optional(
    Type.Integer({
      description: 'The delivery of the test event, if it was requested: GET /deliveries/{id}',
    }),
  ),
})

const WithPublicKeys = closedObject({
  ...SubscriberView.properties,
  publicKeys: Type.Array(Type.String({ description: 'whpk_…, newest first' })),
  keys: Type.Array(KeyView, { description: 'The keys that sign now, newest first' }),
})

async function view(row: Row<'subscribers'>, parts: EmittingRouteParts, area: Area): Promise<Shown> {
  return (await views([row], parts, area))[0]!
}

type Shown = ReturnType<typeof viewSubscriber>

async function views(
  rows: readonly Row<'subscribers'>[],
  parts: EmittingRouteParts,
  area: Area,
): Promise<Shown[]> {
  const { health, clock, owners } = parts
  const ids = rows.map(({ id }) => id)
  const days = await lastDays(health, ids, clock.now())
  const records = await owners.directory.records(rows.map(({ owner }) => owner))
  return rows.map((row) => {
    const ownerName = records.get(row.owner ?? '')?.name ?? null
    return viewSubscriber(row, parts, area, { lastDay: days.get(row.id)!, ownerName })
  })
}

export function subscriberRoutes(app: App, parts: EmittingRouteParts, area: Area): void {
  registerRoute(app, parts, area)
  listRoute(app, parts, area)
  singleRoutes(app, parts, area)
  rotateSecretRoute(app, parts, area)
  testRoute(app, parts, area)
  destinationsRoute(app, parts, area)
}

const noField = { description: null, secret: false, required: false }

function destinationsRoute(app: App, { destinations }: EmittingRouteParts, area: Area): void {
  const Field = closedObject({
    name: Type.String(),
    label: Type.String(),
    description: nullable(Type.String()),
    secret: Type.Boolean({ description: 'Whether it belongs to `secrets`, not to `settings`' }),
    required: Type.Boolean(),
  })
  const View = closedObject({
    name: Type.String(),
    title: Type.String(),
    owners: Type.Boolean({ description: 'Whether customers may register it in the portal' }),
    fields: Type.Array(Field, { description: 'For forms; empty: the settings are free-form JSON' }),
  })
  app.get(
    `${area.prefix}/destinations`,
    route(area.access.read, tags, 'Destinations of the configuration, in place of HTTP', {
      response: { 200: closedObject({ items: Type.Array(View) }) },
    }),
    async () => {
      const shown = [...destinations].filter(([, { owners }]) => area.reachesAll || owners)
      const items = shown.map(([name, { title = name, owners = false, fields = {} }]) => ({
        name,
        title,
        owners,
        fields: Object.entries(fields).map(([field, about]) =>
          Object.assign({ name: field }, noField, about),
        ),
      }))
      return { items }
    },
  )
}

function registerRoute(app: App, parts: EmittingRouteParts, area: Area): void {
  const { subscribers, testEvents } = parts
  app.post(
    `${area.prefix}/subscribers`,
    route(area.access.write, tags, 'Register a subscriber; only this response contains its secret', {
      body: area.newSubscriber,
      response: { 201: Registered },
    }),
    async (request, reply) => {
      const { secret, sendTest, ...settings } = request.body
      const given = { ...readSettings(settings), secret }
      const reached = area.reach(request)
      const owner = reached === 'all' ? given.owner : reached.owner
      const origin = auditOrigin(request)
      // With the registration: after a later refusal the caller would never see the secret, and an invalid one uses up no test.
      const reserve = sendTest && owner ? (tx: Tx) => testEvents.reserve(tx, { id: '', owner }) : undefined
      const { row, keys } = await subscribers.create(given, reached, origin, reserve)
      const test = sendTest
        ? { testDeliveryId: (await testEvents.send(row.id, 'all', origin, { reserved: true })).deliveryId }
        : {}
      return reply.code(201).send({ ...(await view(row, parts, area)), ...keys, ...test })
    },
  )
}

function listRoute(app: App, parts: EmittingRouteParts, area: Area): void {
  const { subscribers } = parts
  const querystring = Type.Object({
    ...pageParameters(),
    state: Type.Optional(Type.String({ description: subscriberStates.join(', ') })),
    url: optionalText('A part of the address; upper and lower case are equal'),
    ...(area.reachesAll && {
      owner: optionalText('Only subscribers of this owner; empty: those without an owner'),
    }),
  })
  app.get(
    `${area.prefix}/subscribers`,
    route(area.access.read, tags, 'Subscribers, newest first', {
      querystring,
      response: { 200: pageSchema(SubscriberView) },
    }),
    async (request) => {
      const { query } = request
      const { owner, state } = query as { owner?: string; state?: string }
      const asked = state ? readChoice(state, 'state', subscriberStates) : undefined
      const page = await subscribers.list(
        {
          owner: ownerAsked(area.reach(request), owner),
          state: asked,
          url: query.url ? searchable(query.url) : undefined,
        },
        readPageRequest(query),
      )
      const shown = await views(page.rows, parts, area)
      // An attempt that ended meanwhile can change the state.
      const rows = asked === undefined ? shown : shown.filter((one) => one.state === asked)
      return viewPage({ ...page, rows }, (one) => one)
    },
  )
}

/** One subscriber: its details, a change, its removal. */
function singleRoutes(app: App, parts: EmittingRouteParts, area: Area): void {
  const { subscribers, secrets, database, clock } = parts
  app.get(
    `${area.prefix}/subscribers/:id`,
    route(area.access.read, tags, 'One subscriber', { params: IdParams, response: { 200: WithPublicKeys } }),
    async (request) => {
      const row = await subscriberOf(subscribers, area, request)
      const keys = await secrets.describe(database.reader, row.id, clock.now())
      const publicKeys = keys.map(({ publicKey }) => publicKey).filter((key) => key !== null)
      return { ...(await view(row, parts, area)), publicKeys, keys }
    },
  )
  app.patch(
    `${area.prefix}/subscribers/:id`,
    route(
      area.access.write,
      tags,
      'Change, pause, resume or disable a subscriber; null selects the default',
      { params: IdParams, body: area.subscriberChange, response: { 200: WithKeys } },
    ),
    async (request) => {
      const { params, body } = request
      const id = readSubscriberId(params.id)
      const origin = auditOrigin(request)
      const { row, keys } = await subscribers.change(id, readSettings(body), area.reach(request), origin)
      return { ...(await view(row, parts, area)), ...keys }
    },
  )
  app.delete(
    `${area.prefix}/subscribers/:id`,
    route(area.access.write, tags, 'Remove a subscriber with its delivery log', {
      params: IdParams,
      response: noContent,
    }),
    async (request, reply) => {
      await subscribers.remove(readSubscriberId(request.params.id), area.reach(request), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function testRoute(app: App, { testEvents }: EmittingRouteParts, area: Area): void {
  const TestView = closedObject({
    id: Type.Integer(),
    eventId: Type.String(),
    deliveryId: Type.Integer({ description: 'GET /deliveries/{id} shows its outcome' }),
  })
  app.post(
    `${area.prefix}/subscribers/:id/test`,
    route(area.access.write, tags, 'Send a signed test event to this subscriber alone', {
      params: IdParams,
      response: { 202: TestView },
    }),
    async (request, reply) => {
      const id = readSubscriberId(request.params.id)
      const sent = await testEvents.send(id, area.reach(request), auditOrigin(request))
      return reply.code(202).send(sent)
    },
  )
}

/** Returns the owner whose subscribers are listed; see Subscribers.list. */
function ownerAsked(reach: Reach, owner: string | undefined): string | null | undefined {
  if (reach !== 'all') return reach.owner
  return owner === '' ? null : owner && searchable(owner)
}

/** Seconds for which an old secret signs after a rotation. */
const defaultOverlap = 86_400

const longestOverlap = 30 * 86_400

function rotateSecretRoute(app: App, { subscribers }: EmittingRouteParts, area: Area): void {
  const RotateBody = closedObject({
    overlapSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: longestOverlap,
        description: 'Seconds for which the old secret signs as well; default 24 hours',
      }),
    ),
    secret: Secret,
  })
  app.post(
    `${area.prefix}/subscribers/:id/rotate-secret`,
    route(
      area.access.write,
      tags,
      'Create a new secret, shown only once; both sign until the overlap ends',
      { params: IdParams, body: RotateBody, response: { 200: closedObject(NewKeysView) } },
      { optionalBody: true },
    ),
    async (request) => {
      const { params, body } = request
      const overlap = Math.round((body.overlapSeconds ?? defaultOverlap) * 1000)
      const origin = auditOrigin(request)
      const id = readSubscriberId(params.id)
      return subscribers.rotate(id, area.reach(request), { overlap, secret: body.secret }, origin)
    },
  )
}
