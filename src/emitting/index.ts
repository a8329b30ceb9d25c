import { createRecordAudit, type RecordAudit } from '../accounts/audit/audit.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import type { NoteRefusal } from '../accounts/refusals.ts'
import type { Clock, Random } from '../runtime/clock.ts'
import { ConfigurationError } from '../config/environment.ts'
import type { Authenticate } from '../http/access/principal.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import { JobWorker } from '../events/jobs.ts'
import type { Worker } from '../runtime/worker.ts'
import type { Database } from '../storage/database.ts'
import { createAttempt, openEgress } from './attempt/attempt.ts'
import type { EmittingConfig, EventTypeDeclaration } from './config.ts'
import { DeliveryLog } from './deliveries/delivery-log.ts'
import { builtInTypes, TestEvents } from './events/built-in-types.ts'
import { Endpoints } from './dispatch/endpoints.ts'
import { emittingAttention } from './attention.ts'
import { type DisablingPolicy, OperationalEvents } from './dispatch/operational-events.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { type Announce, Emitter, type EmitWithin } from './events/emitter.ts'
import { EventCatalogue } from './events/event-catalogue.ts'
import { StoredEventTypes } from './events/stored-event-types.ts'
import { PayloadRemoval } from './events/payload-removal.ts'
import { ScheduledEvents } from './events/scheduled-events.ts'
import { FanOut } from './events/fan-out.ts'
import { Health } from './subscribers/health.ts'
import { Jobs } from './deliveries/jobs.ts'
import { deliveryMetrics } from './dispatch/delivery-attempts.ts'
import { missingStep } from './deliveries/missing.ts'
import { Replay, type ReplayFilter, replayStep } from './deliveries/replay.ts'
import { OwnerBrands, Owners } from './subscribers/owners.ts'
import { Portal } from './portal.ts'
import { authenticatePortal, portalArea, portalRoutes } from './routes/portal.ts'
import { removalWorker } from './subscribers/removal.ts'
import { closeDestinations, type Destinations, readDestinations } from './subscribers/destinations.ts'
import { SubscriberSecrets } from './subscribers/secrets.ts'
import { Subscribers } from './subscribers/subscribers.ts'
import { postgresDeliveryStore } from './store.postgres.ts'
import { sqliteDeliveryStore } from './store.sqlite.ts'
import type { DeliveryStore } from './store.ts'
import { contains, type Finder, type Found, mostFound } from '../http/finder.ts'
import type { App } from '../http/app.ts'
import { parseLossless, parsePlain } from '../json/exact.ts'
import { adminArea, type EmittingRouteParts } from './routes/area.ts'
import { brandRoutes, ownerRoutes } from './routes/owners.ts'
import { deliveryRoutes, deliverySearchRoute } from './routes/deliveries.ts'
import { eventRoutes } from './routes/events.ts'
import { eventTypeRoutes } from './routes/event-types.ts'
import { healthRoutes } from './routes/health.ts'
import { jobRoutes } from './routes/jobs.ts'
import { keyRoutes, verificationRoutes } from './routes/verification.ts'
import { subscriberRoutes } from './routes/subscribers.ts'
import { transformationRoutes } from './routes/transformations.ts'
import { svixRoutes } from './svix/api.ts'
import { withTransformations } from './transformations/transformation.ts'
import { Sandbox } from './transformations/sandbox.ts'

interface EmittingParts extends ModuleParts {
  config?: EmittingConfig | undefined
  /** Writes refused links of the portal to the audit log. */
  noteRefusal: NoteRefusal
  /** Event types that other modules emit with `emitBuiltIn`, for the catalogue. */
  otherBuiltIn?: Readonly<Record<string, EventTypeDeclaration>>
  random?: Random
}

export interface Emitting extends ServiceModule {
  /** Emits in the transaction of a handler of received events. */
  emitWithin: EmitWithin
  /** Starts the deliveries of events after their commit, without a scan. */
  announce: Announce
  /** Emits events of the service itself, whose types users do not declare. */
  emitBuiltIn: EmitWithin
  subscribers: Subscribers
  authenticatePortal: Authenticate
}

/** Outgoing webhooks: signed, queued with the event, retried, logged. */
export function createEmitting(parts: EmittingParts): Emitting {
  const { configuration, database, keyring, clock } = parts
  const egress = openEgress(configuration)
  const cursors = new Cursors(keyring)
  const record = createRecordAudit(clock)
  const secrets = new SubscriberSecrets(keyring)
  const sandbox = new Sandbox(parts.log)
  const stores = { database, keyring, secrets, cursors, clock, record, sandbox }
  const destinations = readDestinations(parts.config?.destinations)
  const emits = createEmitter(parts, record, () => dispatcher)
  const { catalogue, storedEventTypes, emitter, scheduledEvents } = emits
  const disabling: DisablingPolicy = { after: configuration.emitDisableAfter }
  const changed = (id: string): void => dispatcher.changed(id)
  const disable: Subscribers['disable'] = (...about) => subscribers.disable(...about)
  const operationalEvents = new OperationalEvents({ database, emitter, clock, disabling, disable, changed })
  const subscribers: Subscribers = new Subscribers({
    ...stores,
    destinations,
    egressOf: egress.of,
    unwritten: () => health.unwritten,
    publishDisabled: (tx, row) => operationalEvents.publishDisabled(tx, row),
    changed,
  })
  const uses = { egress, secrets, operationalEvents, destinations, sandbox }
  const { dispatcher, health } = createDispatcher(parts, uses)
  const portal = new Portal(database, clock, record)
  const portalCookie = new HostCookie('postern_portal', parts.baseUrl)
  const announce = announceTo(dispatcher, scheduledEvents)
  return {
    emitWithin: (...call) => emitter.emitAll(...call),
    announce,
    emitBuiltIn: (...call) => emitter.emitBuiltIn(...call),
    subscribers,
    authenticatePortal: authenticatePortal(portal, portalCookie),
    workers: [dispatcher, ...emits.workers, removalWorker(parts)],
    finders: [emittingFinder(database, catalogue, storedEventTypes)],
    attention: (now) => emittingAttention(database, now),
    routes: (app) =>
      emittingRoutes(app, {
        ...parts,
        ...stores,
        ...emits,
        announce,
        health,
        disabling,
        subscribers,
        destinations,
        portal,
        brands: new OwnerBrands(database, clock, record),
        portalCookie,
        testEvents: new TestEvents({ database, clock, emitter, subscribers, announce, record }),
        deliveryLog: new DeliveryLog(database, cursors),
        replay: new Replay(database, clock, record),
        owners: new Owners({ database, cursors, clock, health, record, subscribers }),
        jobs: new Jobs(database, clock, record),
      }),
  }
}

const announceTo =
  (dispatcher: Dispatcher, scheduledEvents: ScheduledEvents): Announce =>
  (emitted) => {
    dispatcher.offer(emitted.map(({ committed }) => committed))
    scheduledEvents.announce(emitted)
  }

function replayWorker(
  { database, clock, log }: Pick<EmittingParts, 'database' | 'clock' | 'log'>,
  fanOut: FanOut,
): JobWorker {
  const { engine } = database
  return new JobWorker({
    name: 'replays',
    kind: 'replay',
    step(tx, job, limit, now) {
      const { status } = JSON.parse(job.filter) as ReplayFilter
      if (status === 'missing') return missingStep({ engine, fanOut }, tx, job, { limit, now })
      return replayStep(engine, tx, job, { limit, now })
    },
    signal: 'deliveries',
    database,
    clock,
    log,
  })
}

function createEmitter(
  { configuration, config = {}, database, clock, log, otherBuiltIn }: EmittingParts,
  record: RecordAudit,
  dispatcher: () => Dispatcher,
): Pick<
  EmittingRouteParts,
  'catalogue' | 'storedEventTypes' | 'emitter' | 'scheduledEvents' | 'payloadRemoval'
> & { workers: Worker[] } {
  const { engine } = database
  const catalogue = readCatalogue(config, { ...builtInTypes, ...otherBuiltIn })
  const fanOut = new FanOut({
    engine,
    firstDelay: configuration.emitRetrySchedule[0] ?? 0,
    ownerlessGetAll: config.ownerlessGetAll ?? false,
  })
  const saw: Database['saw'] = (...numbers) => database.saw(...numbers)
  const scheduledEvents = new ScheduledEvents({ database, fanOut, clock, log, record })
  const forget = (nonce: number): void => dispatcher().forgetPayload(nonce)
  const generation = (): number => dispatcher().generation
  const scheduled = (earliest: number): void => scheduledEvents.expect(earliest)
  const payloadRemoval = new PayloadRemoval({ database, clock, log, record, forget })
  const emitter = new Emitter({ engine, clock, catalogue, fanOut, generation, saw, scheduled })
  return {
    catalogue,
    storedEventTypes: new StoredEventTypes({ database, clock, record }, catalogue),
    emitter,
    scheduledEvents,
    payloadRemoval,
    workers: [scheduledEvents, payloadRemoval.worker, replayWorker({ database, clock, log }, fanOut)],
  }
}

interface DispatcherUses {
  egress: ReturnType<typeof openEgress>
  secrets: SubscriberSecrets
  operationalEvents: OperationalEvents
  destinations: Destinations
  sandbox: Sandbox
}

function createDispatcher(
  { configuration, database, keyring, clock, log, metrics, random = Math.random }: EmittingParts,
  { egress, secrets, operationalEvents, destinations, sandbox }: DispatcherUses,
): { dispatcher: Dispatcher; health: Health } {
  const { emitRetrySchedule: schedule, emitTimeout: timeout } = configuration
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'the session that owns the subscriber queues failed')
  const health = new Health({ database, clock, log, retention: configuration.payloadRetention })
  const dispatcher = new Dispatcher({
    database,
    store: openDeliveryStore(database, clock, onError),
    endpoints: new Endpoints({
      database,
      keyring,
      secrets,
      egress,
      clock,
      destinations,
      defaults: { timeout, schedule },
    }),
    attempt: withTransformations(createAttempt({ agents: egress.agents, clock }), { sandbox, clock }),
    health,
    operationalEvents,
    metrics: deliveryMetrics(metrics),
    clock,
    random,
    log,
    close: async () => {
      await Promise.all([health.stop(), egress.close(), closeDestinations(destinations), sandbox.close()])
    },
  })
  return { dispatcher, health }
}

function readCatalogue(
  { eventTypes = {}, undeclaredTypes = 'allow' }: EmittingConfig,
  builtIn: Readonly<Record<string, EventTypeDeclaration>>,
): EventCatalogue {
  try {
    if (undeclaredTypes !== 'allow' && undeclaredTypes !== 'refuse')
      throw new Error('emitting.undeclaredTypes must be allow or refuse')
    return new EventCatalogue(eventTypes, undeclaredTypes === 'refuse', builtIn)
  } catch (error) {
    throw new ConfigurationError([(error as Error).message])
  }
}

export function openDeliveryStore(
  database: Database,
  clock: Clock,
  onError: (error: unknown) => void,
): DeliveryStore {
  return database.engine === 'sqlite'
    ? sqliteDeliveryStore(database)
    : postgresDeliveryStore(database, clock, onError)
}

/** Subscribers whose addresses are searched, the newest. */
const mostSearched = 2_000

/** Finds subscribers by id, host, owner or description, owners by id or display name, deliveries by number, and event types. */
function emittingFinder(
  { readerAside: reader }: Database,
  catalogue: EventCatalogue,
  storedEventTypes: StoredEventTypes,
): Finder {
  return {
    scope: 'subscribers:read',
    async find(text) {
      const all = await readSubscribers(reader)
      const subscribers = all.filter(
        ({ id, url, owner, description }) =>
          id === text ||
          // Parsing 2,000 addresses takes longer than reading them.
          (contains(url, text) && contains(new URL(url).host, text)) ||
          contains(owner, text) ||
          contains(description, text) ||
          url === text,
      )
      const types = [...catalogue.entries, ...(await storedEventTypes.names())]
        .filter(({ type }) => contains(type, text))
        .slice(0, mostFound)
      return [
        ...(await findDelivery(reader, text)),
        ...subscribers.slice(0, mostFound).map(describe),
        ...(await findOwners(reader, text)),
        ...types.map(({ type, description }): Found => ({
          kind: 'event-type',
          id: type,
          title: type,
          detail: description ?? null,
        })),
      ]
    },
  }
}

function readSubscribers(reader: Database['reader']) {
  return reader
    .selectFrom('subscribers')
    .select(['id', 'url', 'owner', 'description', 'status'])
    .orderBy('id', 'desc')
    .limit(mostSearched)
    .execute()
}

type Row = Awaited<ReturnType<typeof readSubscribers>>[number]

function describe({ id, url, owner, description, status }: Row): Found {
  const detail = [owner, description, status].filter(Boolean).join(' · ')
  return { kind: 'subscriber', id, title: new URL(url).host, detail }
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
