import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readLimit } from '../../paging/limit.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import { openHeaders } from '../destinations.ts'
import { NewSubscriberBody, readSettings, Secret, SubscriberChangeBody } from '../subscriber-body.ts'
import type { Subscribers } from '../subscribers.ts'
import type { TestEvents } from '../test-events.ts'
import { NewKeysView, PageInfoView, SubscriberView, viewPage, viewSubscriber } from '../views.ts'

export interface SubscriberRouteParts {
  subscribers: Subscribers
  testEvents: TestEvents
  publicKeysOf: (subscriberId: string) => Promise<string[]>
  keyring: Keyring
}

const tags = ['subscribers']
const config = { access: 'admin' } as const
const params = Type.Object({ id: Type.String() })
/** Seconds that an old secret goes on signing after a rotation. */
const defaultOverlap = 86_400
const longestOverlap = 30 * 86_400

const KeysView = Type.Object(NewKeysView, { additionalProperties: false })
const WithKeys = Type.Object(
  { ...SubscriberView.properties, ...NewKeysView },
  { additionalProperties: false },
)
const WithPublicKeys = Type.Object(
  {
    ...SubscriberView.properties,
    publicKeys: Type.Array(Type.String({ description: 'whpk_…, newest first' })),
  },
  { additionalProperties: false },
)

export function subscriberRoutes(
  app: App,
  { subscribers, testEvents, publicKeysOf, keyring }: SubscriberRouteParts,
): void {
  const view = (row: SubscribersTable) => viewSubscriber(row, openHeaders(keyring, row))

  app.post(
    '/subscribers',
    {
      config,
      schema: {
        tags,
        summary: 'Register a subscriber; the answer shows its secret, and no later one does',
        body: NewSubscriberBody,
        response: { 201: WithKeys },
      },
    },
    async ({ body }, reply) => {
      const { row, keys } = await subscribers.create({
        ...readSettings(body),
        url: body.url,
        secret: body.secret,
      })
      return reply.code(201).send({ ...view(row), ...keys })
    },
  )

  const ListView = Type.Object(
    { data: Type.Array(SubscriberView), pageInfo: PageInfoView },
    { additionalProperties: false },
  )
  const querystring = Type.Object({
    limit: Type.Optional(Type.String({ description: '1 to 100, default 20' })),
    cursor: Type.Optional(Type.String({ minLength: 1 })),
  })
  app.get(
    '/subscribers',
    {
      config,
      schema: { tags, summary: 'Subscribers, newest first', querystring, response: { 200: ListView } },
    },
    async ({ query }) => {
      const { rows, nextCursor } = await subscribers.list(
        readLimit(query.limit, { default: 20, max: 100 }),
        query.cursor,
      )
      return viewPage(rows.map(view), nextCursor)
    },
  )

  app.get(
    '/subscribers/:id',
    { config, schema: { tags, summary: 'One subscriber', params, response: { 200: WithPublicKeys } } },
    async ({ params: { id } }) => {
      const row = await subscribers.get(readSubscriberId(id))
      return { ...view(row), publicKeys: await publicKeysOf(row.id) }
    },
  )

  app.patch(
    '/subscribers/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Change, pause, resume, disable; null takes the default',
        params,
        body: SubscriberChangeBody,
        response: { 200: WithKeys },
      },
    },
    async ({ params: { id }, body }) => {
      const { row, keys } = await subscribers.change(readSubscriberId(id), {
        ...readSettings(body),
        status: body.status,
      })
      return { ...view(row), ...keys }
    },
  )

  app.delete(
    '/subscribers/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Remove a subscriber with its delivery log',
        params,
        response: { 204: Type.Null() },
      },
    },
    async ({ params: { id } }, reply) => {
      await subscribers.remove(readSubscriberId(id))
      return reply.code(204).send(null)
    },
  )

  const RotateBody = Type.Object(
    {
      overlapSeconds: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: longestOverlap,
          description: 'How long the old secret signs as well; default 24 hours',
        }),
      ),
      secret: Secret,
    },
    { additionalProperties: false },
  )
  app.post(
    '/subscribers/:id/rotate-secret',
    {
      config: { ...config, optionalBody: true },
      schema: {
        tags,
        summary: 'Make a new secret, shown this once; both sign until the overlap ends',
        params,
        body: RotateBody,
        response: { 200: KeysView },
      },
    },
    async ({ params: { id }, body }) =>
      subscribers.rotate(
        readSubscriberId(id),
        Math.round((body.overlapSeconds ?? defaultOverlap) * 1000),
        body.secret,
      ),
  )

  const TestView = Type.Object(
    {
      id: Type.Integer(),
      eventId: Type.String(),
      deliveryId: Type.Integer({ description: 'GET /deliveries/{id} tells how it went' }),
    },
    { additionalProperties: false },
  )
  app.post(
    '/subscribers/:id/test',
    {
      config,
      schema: {
        tags,
        summary: 'Send a signed test event to this subscriber alone',
        params,
        response: { 202: TestView },
      },
    },
    async ({ params: { id } }, reply) => reply.code(202).send(await testEvents.send(readSubscriberId(id))),
  )
}

/** @throws Problem `not-found` for what has not the form of an id. */
export function readSubscriberId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no such subscriber.' })
  return text
}
