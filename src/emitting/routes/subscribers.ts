import type { Tx } from '../../storage/database.ts'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import type { Reach } from '../events/audience.ts'
import { readSettings, Secret } from '../subscribers/subscriber-body.ts'
import { readState, subscriberStates } from '../subscribers/subscriber-state.ts'
import { type Area, readSubscriberId, subscriberOf } from './area.ts'
import { SubscriberView, viewKey } from '../views/subscriber.ts'
import {
  KeysView,
  Registered,
  type SubscriberRouteParts,
  tags,
  view,
  views,
  WithKeys,
  WithPublicKeys,
} from './subscriber-view.ts'
import { closedObject, IdParams, noContent, optionalText } from '../../http/schemas/schemas.ts'

export function subscriberRoutes(app: App, parts: SubscriberRouteParts, area: Area): void {
  registerRoute(app, parts, area)
  listRoute(app, parts, area)
  detailRoute(app, parts, area)
  changeRoute(app, parts, area)
  removeRoute(app, parts, area)
  rotateSecretRoute(app, parts, area)
  testRoute(app, parts, area)
}

function registerRoute(app: App, parts: SubscriberRouteParts, area: Area): void {
  const { subscribers, testEvents } = parts
  app.post(
    `${area.prefix}/subscribers`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary: 'Register a subscriber; only this response contains its secret',
        body: area.newSubscriber,
        response: { 201: Registered },
      },
    },
    async (request, reply) => {
      const { url, secret, sendTest, ...settings } = request.body
      const given = { ...readSettings(settings), url, secret }
      const reached = area.reach(request)
      const owner = reached === 'all' ? given.owner : reached.owner
      const origin = auditOrigin(request)
      // With the registration: after a later refusal the caller would never see the secret, and an invalid one uses up no test.
      const reserve = sendTest && owner ? (tx: Tx) => testEvents.reserve(tx, owner) : undefined
      const { row, keys } = await subscribers.create(given, reached, origin, reserve)
      const test = sendTest
        ? { testDeliveryId: (await testEvents.send(row.id, 'all', origin, true)).deliveryId }
        : {}
      return reply.code(201).send({ ...(await view(row, parts)), ...keys, ...test })
    },
  )
}

function listRoute(app: App, parts: SubscriberRouteParts, area: Area): void {
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
    {
      config: { access: area.access.read },
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
          owner: ownerAsked(area.reach(request), owner),
          state: asked,
          // PostgreSQL refuses a NUL in a parameter. No address contains one.
          url: query.url?.replaceAll('\0', '\u{fffd}') || undefined,
        },
        readPageRequest(query),
      )
      const shown = await views(page.rows, parts)
      // An attempt that ended meanwhile can change the state.
      const rows = asked === undefined ? shown : shown.filter((one) => one.state === asked)
      return viewPage({ ...page, rows }, (one) => one)
    },
  )
}

function detailRoute(app: App, parts: SubscriberRouteParts, area: Area): void {
  const { subscribers, keysOf } = parts
  app.get(
    `${area.prefix}/subscribers/:id`,
    {
      config: { access: area.access.read },
      schema: { tags, summary: 'One subscriber', params: IdParams, response: { 200: WithPublicKeys } },
    },
    async (request) => {
      const row = await subscriberOf(subscribers, area, request)
      const keys = await keysOf(row.id)
      const publicKeys = keys.map(({ publicKey }) => publicKey).filter((key) => key !== null)
      return { ...(await view(row, parts)), publicKeys, keys: keys.map(viewKey) }
    },
  )
}

function changeRoute(app: App, parts: SubscriberRouteParts, area: Area): void {
  const { subscribers } = parts
  app.patch(
    `${area.prefix}/subscribers/:id`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary: 'Change, pause, resume or disable a subscriber; null selects the default',
        params: IdParams,
        body: area.subscriberChange,
        response: { 200: WithKeys },
      },
    },
    async (request) => {
      const { params, body } = request
      const given = { ...readSettings(body), status: body.status }
      const { row, keys } = await subscribers.change(
        readSubscriberId(params.id),
        given,
        area.reach(request),
        auditOrigin(request),
      )
      return { ...(await view(row, parts)), ...keys }
    },
  )
}

function removeRoute(app: App, { subscribers }: SubscriberRouteParts, area: Area): void {
  app.delete(
    `${area.prefix}/subscribers/:id`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary: 'Remove a subscriber with its delivery log',
        params: IdParams,
        response: noContent,
      },
    },
    async (request, reply) => {
      await subscribers.remove(readSubscriberId(request.params.id), area.reach(request), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function testRoute(app: App, { testEvents }: SubscriberRouteParts, area: Area): void {
  const TestView = closedObject({
    id: Type.Integer(),
    eventId: Type.String(),
    deliveryId: Type.Integer({ description: 'GET /deliveries/{id} shows its outcome' }),
  })
  app.post(
    `${area.prefix}/subscribers/:id/test`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary: 'Send a signed test event to this subscriber alone',
        params: IdParams,
        response: { 202: TestView },
      },
    },
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
  // PostgreSQL refuses a NUL in a parameter. No owner contains one, so another character finds the same.
  return owner === '' ? null : owner?.replaceAll('\0', '\u{fffd}')
}

/** Seconds for which an old secret signs after a rotation. */
const defaultOverlap = 86_400

const longestOverlap = 30 * 86_400

function rotateSecretRoute(app: App, { subscribers }: SubscriberRouteParts, area: Area): void {
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
    {
      config: { access: area.access.write, optionalBody: true },
      schema: {
        tags,
        summary: 'Create a new secret, shown only once; both sign until the overlap ends',
        params: IdParams,
        body: RotateBody,
        response: { 200: KeysView },
      },
    },
    async (request) => {
      const { params, body } = request
      const overlap = Math.round((body.overlapSeconds ?? defaultOverlap) * 1000)
      const origin = auditOrigin(request)
      const id = readSubscriberId(params.id)
      return subscribers.rotate(id, area.reach(request), { overlap, secret: body.secret }, origin)
    },
  )
}
