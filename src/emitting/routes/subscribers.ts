import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { isId } from '../../crypto/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readLimit } from '../../paging/limit.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { limitParameter } from '../../paging/parameters.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import type { Reach } from '../events/audience.ts'
import type { DisablingPolicy } from '../dispatch/disabling.ts'
import { openHeaders } from '../dispatch/destinations.ts'
import type { KeyDescription } from '../subscribers/secrets.ts'
import { readSettings, Secret } from '../subscribers/subscriber-body.ts'
import type { Health } from '../subscribers/health.ts'
import type { Clock } from '../../runtime/clock.ts'
import { lastDays, readState, subscriberStates } from '../subscribers/subscriber-state.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'
import type { TestEvents } from '../events/test-events.ts'
import type { Area } from './area.ts'
import { KeyView, NewKeysView, SubscriberView, viewKey, viewSubscriber } from '../views.ts'

export interface SubscriberRouteParts {
  subscribers: Subscribers
  testEvents: TestEvents
  keysOf: (subscriberId: string) => Promise<KeyDescription[]>
  keyring: Keyring
  disabling: DisablingPolicy
  health: Health
  clock: Clock
}

const tags = ['subscribers']
const params = Type.Object({ id: Type.String() })
/** Seconds for which an old secret signs after a rotation. */
const defaultOverlap = 86_400
const longestOverlap = 30 * 86_400

const KeysView = Type.Object(NewKeysView, { additionalProperties: false })
const WithKeys = Type.Object(
  { ...SubscriberView.properties, ...NewKeysView },
  { additionalProperties: false },
)
const Registered = Type.Object(
  {
    ...WithKeys.properties,
    testDeliveryId: Type.Optional(
      Type.Integer({
        description: 'The delivery of the test event, if it was requested: GET /deliveries/{id}',
      }),
    ),
  },
  { additionalProperties: false },
)
const WithPublicKeys = Type.Object(
  {
    ...SubscriberView.properties,
    publicKeys: Type.Array(Type.String({ description: 'whpk_…, newest first' })),
    keys: Type.Array(KeyView, { description: 'The keys that sign now, newest first' }),
  },
  { additionalProperties: false },
)

export function subscriberRoutes(app: App, parts: SubscriberRouteParts, area: Area): void {
  registerRoute(app, parts, area)
  listRoute(app, parts, area)
  detailRoute(app, parts, area)
  changeRoute(app, parts, area)
  removeRoute(app, parts, area)
  rotateSecretRoute(app, parts, area)
  testRoute(app, parts, area)
}

function registerRoute(
  app: App,
  parts: SubscriberRouteParts,
  { prefix, access, reach, newSubscriber }: Area,
): void {
  const { subscribers, testEvents } = parts
  app.post(
    `${prefix}/subscribers`,
    {
      config: { access: access.write },
      schema: {
        tags,
        summary: 'Register a subscriber; only this response contains its secret',
        body: newSubscriber,
        response: { 201: Registered },
      },
    },
    async (request, reply) => {
      const { url, secret, sendTest, ...settings } = request.body
      const given = { ...readSettings(settings), url, secret }
      const reached = reach(request)
      const owner = reached === 'all' ? given.owner : reached.owner
      // Before the registration: after a later refusal the caller would never see the secret.
      if (sendTest && owner) await testEvents.reserve(owner)
      const origin = auditOrigin(request)
      const { row, keys } = await subscribers.create(given, reached, origin)
      const test = sendTest
        ? { testDeliveryId: (await testEvents.send(row.id, 'all', origin, true)).deliveryId }
        : {}
      return reply.code(201).send({ ...(await view(row, parts)), ...keys, ...test })
    },
  )
}

function listRoute(app: App, parts: SubscriberRouteParts, { prefix, access, reach, reachesAll }: Area): void {
  const { subscribers } = parts
  const querystring = Type.Object({
    limit: limitParameter({ default: 20, max: 100 }),
    cursor: Type.Optional(Type.String({ minLength: 1 })),
    state: Type.Optional(Type.String({ description: subscriberStates.join(', ') })),
    url: Type.Optional(
      Type.String({ maxLength: 256, description: 'A part of the address; upper and lower case are equal' }),
    ),
    ...(reachesAll && {
      owner: Type.Optional(
        Type.String({ description: 'Only subscribers of this owner; empty: those without an owner' }),
      ),
    }),
  })
  app.get(
    `${prefix}/subscribers`,
    {
      config: { access: access.read },
      schema: {
        tags,
        summary: 'Subscribers, newest first',
        querystring,
        response: { 200: pageSchema(SubscriberView) },
      },
    },
    async (request) => {
      const { query } = request
      const { owner, state } = query as { owner?: string; state?: string }
      const asked = readState(state)
      const page = await subscribers.list(
        {
          owner: ownerAsked(reach(request), owner),
          state: asked,
          // PostgreSQL refuses a NUL in a parameter. No address contains one.
          url: query.url?.replaceAll('\0', '\u{fffd}') || undefined,
        },
        readLimit(query.limit, { default: 20, max: 100 }),
        query.cursor,
      )
      const shown = await views(page.rows, parts)
      // An attempt that ended meanwhile can change the state.
      const rows = asked === undefined ? shown : shown.filter((one) => one.state === asked)
      return viewPage({ ...page, rows }, (one) => one)
    },
  )
}

function detailRoute(app: App, parts: SubscriberRouteParts, { prefix, access, reach }: Area): void {
  const { subscribers, keysOf } = parts
  app.get(
    `${prefix}/subscribers/:id`,
    {
      config: { access: access.read },
      schema: { tags, summary: 'One subscriber', params, response: { 200: WithPublicKeys } },
    },
    async (request) => {
      const row = await subscribers.get(readSubscriberId(request.params.id), reach(request))
      const keys = await keysOf(row.id)
      const publicKeys = keys.map(({ publicKey }) => publicKey).filter((key) => key !== null)
      return { ...(await view(row, parts)), publicKeys, keys: keys.map(viewKey) }
    },
  )
}

function changeRoute(
  app: App,
  parts: SubscriberRouteParts,
  { prefix, access, reach, subscriberChange }: Area,
): void {
  const { subscribers } = parts
  app.patch(
    `${prefix}/subscribers/:id`,
    {
      config: { access: access.write },
      schema: {
        tags,
        summary: 'Change, pause, resume or disable a subscriber; null selects the default',
        params,
        body: subscriberChange,
        response: { 200: WithKeys },
      },
    },
    async (request) => {
      const { params, body } = request
      const given = { ...readSettings(body), status: body.status }
      const { row, keys } = await subscribers.change(
        readSubscriberId(params.id),
        given,
        reach(request),
        auditOrigin(request),
      )
      return { ...(await view(row, parts)), ...keys }
    },
  )
}

function removeRoute(app: App, { subscribers }: SubscriberRouteParts, { prefix, access, reach }: Area): void {
  app.delete(
    `${prefix}/subscribers/:id`,
    {
      config: { access: access.write },
      schema: {
        tags,
        summary: 'Remove a subscriber with its delivery log',
        params,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await subscribers.remove(readSubscriberId(request.params.id), reach(request), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function rotateSecretRoute(
  app: App,
  { subscribers }: SubscriberRouteParts,
  { prefix, access, reach }: Area,
): void {
  const RotateBody = Type.Object(
    {
      overlapSeconds: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: longestOverlap,
          description: 'Seconds for which the old secret signs as well; default 24 hours',
        }),
      ),
      secret: Secret,
    },
    { additionalProperties: false },
  )
  app.post(
    `${prefix}/subscribers/:id/rotate-secret`,
    {
      config: { access: access.write, optionalBody: true },
      schema: {
        tags,
        summary: 'Create a new secret, shown only once; both sign until the overlap ends',
        params,
        body: RotateBody,
        response: { 200: KeysView },
      },
    },
    async (request) => {
      const { params, body } = request
      const overlap = Math.round((body.overlapSeconds ?? defaultOverlap) * 1000)
      const origin = auditOrigin(request)
      const id = readSubscriberId(params.id)
      return subscribers.rotate(id, reach(request), { overlap, secret: body.secret }, origin)
    },
  )
}

function testRoute(app: App, { testEvents }: SubscriberRouteParts, { prefix, access, reach }: Area): void {
  const TestView = Type.Object(
    {
      id: Type.Integer(),
      eventId: Type.String(),
      deliveryId: Type.Integer({ description: 'GET /deliveries/{id} shows its outcome' }),
    },
    { additionalProperties: false },
  )
  app.post(
    `${prefix}/subscribers/:id/test`,
    {
      config: { access: access.write },
      schema: {
        tags,
        summary: 'Send a signed test event to this subscriber alone',
        params,
        response: { 202: TestView },
      },
    },
    async (request, reply) =>
      reply
        .code(202)
        .send(
          await testEvents.send(readSubscriberId(request.params.id), reach(request), auditOrigin(request)),
        ),
  )
}

async function view(row: SubscribersTable, parts: SubscriberRouteParts): Promise<Shown> {
  return (await views([row], parts))[0]!
}

type Shown = ReturnType<typeof viewSubscriber>

async function views(
  rows: readonly SubscribersTable[],
  { keyring, disabling: policy, health, clock }: SubscriberRouteParts,
): Promise<Shown[]> {
  const ids = rows.map(({ id }) => id)
  const days = await lastDays(health, ids, clock.now())
  return rows.map((row) =>
    viewSubscriber(row, { headers: openHeaders(keyring, row), policy, lastDay: days.get(row.id)! }),
  )
}

/** Returns the owner whose subscribers are listed; see Subscribers.list. */
function ownerAsked(reach: Reach, owner: string | undefined): string | null | undefined {
  if (reach !== 'all') return reach.owner
  // PostgreSQL refuses a NUL in a parameter. No owner contains one, so another character finds the same.
  return owner === '' ? null : owner?.replaceAll('\0', '\u{fffd}')
}

/** @throws Problem `not-found` if the text does not have the form of an id */
export function readSubscriberId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no such subscriber.' })
  return text
}
