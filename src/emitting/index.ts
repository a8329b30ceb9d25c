import type { App } from '../http/app.ts'
import { contains, type Finder, type Found, mostFound } from '../http/finder.ts'
import type { ServiceModule } from '../http/service-module.ts'
import { parseLossless, parsePlain } from '../json/exact.ts'
import type { Database } from '../storage/database.ts'
import { emittingAttention } from './attention.ts'
import { createParts, type EmittingParts, type EmittingRouteParts } from './parts.ts'
import { adminArea } from './routes/area.ts'
import { deliveryRoutes, deliverySearchRoute } from './routes/deliveries.ts'
import { eventTypeRoutes } from './routes/event-types.ts'
import { eventRoutes } from './routes/events.ts'
import { healthRoutes } from './routes/health.ts'
import { jobRoutes } from './routes/jobs.ts'
import { brandRoutes, ownerRoutes } from './routes/owners.ts'
import { authenticatePortal, portalArea, portalRoutes } from './routes/portal.ts'
import { subscriberRoutes } from './routes/subscribers.ts'
import { transformationRoutes } from './routes/transformations.ts'
import { keyRoutes, verificationRoutes } from './routes/verification.ts'
import { svixRoutes } from './svix/api.ts'

/** Outgoing webhooks: signed, queued with the event, retried, logged. */
export function createEmitting(given: EmittingParts) {
  const parts = createParts(given)
  const { database, emitter } = parts
  const module: ServiceModule = {
    workers: [parts.dispatcher, ...parts.workers],
    finders: [emittingFinder(parts)],
    attention: (now) => emittingAttention(database, now),
    routes: (app) => emittingRoutes(app, parts),
  }
  return {
    ...module,
    emitWithin: emitter.emitWithin,
    emitBuiltIn: emitter.emitBuiltIn.bind(emitter),
    subscribers: parts.subscribers,
    authenticatePortal: authenticatePortal(parts),
  }
}

/** Subscribers whose addresses are searched, the newest. */
const mostSearched = 2_000

/** Finds subscribers by id, host, owner or description, owners by id or display name, deliveries by number, and event types. */
function emittingFinder({ database, catalogue, storedEventTypes }: EmittingRouteParts): Finder {
  const { slowReader: reader } = database
  return {
    scope: 'subscribers:read',
    find: async (text) => [
      ...(await findDelivery(reader, text)),
      ...(await findSubscribers(reader, text)),
      ...(await findOwners(reader, text)),
      ...[...catalogue.entries, ...(await storedEventTypes.names())]
        .filter(({ type }) => contains(type, text))
        .slice(0, mostFound)
        .map(({ type: id, description = null }): Found => ({
          kind: 'event-type',
          id,
          title: id,
          detail: description,
        })),
    ],
  }
}

async function findSubscribers(reader: Database['reader'], text: string): Promise<Found[]> {
  const rows = await reader
    .selectFrom('subscribers')
    .select(['id', 'url', 'owner', 'description', 'status'])
    .orderBy('id', 'desc')
    .limit(mostSearched)
    .execute()
  return rows
    .filter(
      ({ id, url, owner, description }) =>
        id === text ||
        // Parsing 2,000 addresses takes longer than reading them.
        (contains(url, text) && contains(new URL(url).host, text)) ||
        contains(owner, text) ||
        contains(description, text) ||
        url === text,
    )
    .slice(0, mostFound)
    .map(({ id, url, owner, description, status }) => ({
      kind: 'subscriber',
      id,
      title: new URL(url).host,
      detail: [owner, description, status].filter(Boolean).join(' · '),
    }))
}

async function findOwners(reader: Database['reader'], text: string): Promise<Found[]> {
  const rows = await reader.selectFrom('owners').select(['owner', 'name']).limit(mostSearched).execute()
  return rows
    .filter(({ owner, name }) => contains(owner, text) || contains(name, text))
    .slice(0, mostFound)
    .map(({ owner, name }) => ({
      kind: 'customer',
      id: owner,
      title: name ?? owner,
      detail: name === null ? null : owner,
    }))
}

async function findDelivery(reader: Database['reader'], text: string): Promise<Found[]> {
  if (!/^[1-9]\d{0,15}$/.test(text)) return []
  const row = await reader
    .selectFrom('deliveries')
    // A removed subscriber's deliveries are deleted by and by.
    .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
    .select(['deliveries.id', 'subscriber_id', 'deliveries.status'])
    .where('deliveries.id', '=', Number(text))
    .executeTakeFirst()
  if (!row) return []
  const detail = `${row.status} · subscriber ${row.subscriber_id}`
  return [{ kind: 'delivery', id: text, title: `Delivery ${text}`, detail }]
}

/** All routes of emitting. Numbers of emitted events are preserved as text; other bodies are parsed as usual. */
async function emittingRoutes(app: App, parts: EmittingRouteParts): Promise<void> {
  await app.register(async (scope: App) => {
    readJsonWith(scope, parseLossless)
    eventRoutes(scope, parts)
  })
  await app.register(async (scope: App) => {
    readJsonWith(scope, parseLossless)
    svixRoutes(scope, parts)
  })
  await app.register(async (scope: App) => {
    readJsonWith(scope, parsePlain)
    keyRoutes(scope, parts)
    portalRoutes(scope, parts)
    deliverySearchRoute(scope, parts)
    eventTypeRoutes(scope, parts)
    ownerRoutes(scope, parts)
    brandRoutes(scope, parts)
    for (const area of [adminArea, portalArea]) {
      subscriberRoutes(scope, parts, area)
      transformationRoutes(scope, parts, area)
      deliveryRoutes(scope, parts, area)
      jobRoutes(scope, parts, area)
      healthRoutes(scope, parts, area)
      verificationRoutes(scope, parts, area)
    }
  })
}

function readJsonWith(scope: App, parse: (bytes: Uint8Array) => unknown): void {
  scope.removeContentTypeParser('application/json')
  scope.bodies.parse(scope, ['application/json'], (_request, bytes, done) => {
    let body: unknown
    try {
      body = parse(bytes)
    } catch (error) {
      return done(error as Error)
    }
    done(null, body)
  })
}
