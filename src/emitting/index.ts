import { createRecordAudit } from '../accounts/audit/audit.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import type { NoteRefusal } from '../accounts/refusals.ts'
import type { Random, Clock } from '../runtime/clock.ts'
import { ConfigurationError } from '../config/environment.ts'
import type { Authenticate } from '../http/access/principal.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import { JobWorker } from '../events/jobs/worker.ts'
import type { Database } from '../storage/database.ts'
import { createAttempt } from './attempt/attempt.ts'
import type { EmittingConfig, EventTypeDeclaration } from './config.ts'
import { DeliveryLog } from './deliveries/delivery-log.ts'
import { builtInTypes } from './events/built-in-types.ts'
import { Destinations } from './dispatch/destinations.ts'
import { emittingAttention } from './attention.ts'
import { emittingFinder } from './finder.ts'
import type { DisablingPolicy } from './dispatch/disabling.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { openEgress } from './attempt/egress.ts'
import { Emitter, type Announce, type EmitWithin } from './events/emitter.ts'
import { EventCatalogue } from './events/event-catalogue.ts'
import { FanOut } from './events/fan-out.ts'
import { Health } from './subscribers/health.ts'
import { Jobs } from './deliveries/jobs.ts'
import { deliveryMetrics } from './metrics.ts'
import { OperationalEvents } from './dispatch/operational-events.ts'
import { pastSignatures } from './deliveries/past-signatures.ts'
import { Replay } from './deliveries/replay.ts'
import { replayStep } from './deliveries/replay-step.ts'
import { OwnerBrands } from './subscribers/owner-brands.ts'
import { Owners } from './subscribers/owners.ts'
import { Portal } from './portal.ts'
import { emittingRoutes } from './routes.ts'
import { authenticatePortal } from './routes/portal-sessions.ts'
import { removalWorker } from './subscribers/removal.ts'
import { SubscriberSecrets } from './subscribers/secrets.ts'
import { Subscribers } from './subscribers/subscribers.ts'
import { TestEvents } from './events/test-events.ts'
import { postgresDeliveryStore } from './store.postgres.ts'
import { sqliteDeliveryStore } from './store.sqlite.ts'
import type { DeliveryStore } from './store.ts'

export type { EmitWithin } from './events/emitter.ts'
export type { Subscribers } from './subscribers/subscribers.ts'

export interface EmittingParts extends ModuleParts {
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
  const stores = { database, keyring, secrets, cursors, clock, record }
  const { catalogue, emitter } = createEmitter(parts, () => dispatcher.generation)
  const disabling: DisablingPolicy = { after: configuration.emitDisableAfter }
  const changed = (id: string): void => dispatcher.changed(id)
  const disable: Subscribers['disable'] = (...about) => subscribers.disable(...about)
  const operationalEvents = new OperationalEvents({ database, emitter, clock, disabling, disable, changed })
  const subscribers: Subscribers = new Subscribers({
    ...stores,
    egressOf: egress.of,
    unwritten: () => health.unwritten,
    publishDisabled: (tx, row) => operationalEvents.publishDisabled(tx, row),
    changed,
  })
  const { dispatcher, health } = createDispatcher(parts, { egress, secrets, operationalEvents })
  const portal = new Portal(database, clock, record)
  const portalCookie = new HostCookie('postern_portal', parts.baseUrl)
  const announce: Announce = (emitted) => dispatcher.offer(emitted.map(({ committed }) => committed))
  return {
    emitWithin: (...call) => emitter.emitAll(...call),
    announce,
    emitBuiltIn: (...call) => emitter.emitBuiltIn(...call),
    subscribers,
    authenticatePortal: authenticatePortal(portal, portalCookie),
    workers: [dispatcher, replayWorker(parts), removalWorker(parts)],
    finders: [emittingFinder(database, catalogue)],
    attention: (now) => emittingAttention(database, now),
    routes: (app) =>
      emittingRoutes(app, {
        ...parts,
        cursors,
        emitter,
        catalogue,
        announce,
        health,
        disabling,
        subscribers,
        portal,
        brands: new OwnerBrands(database, clock, record),
        portalCookie,
        frameOrigins: configuration.portalFrameOrigins,
        testEvents: new TestEvents({ database, clock, emitter, subscribers, announce, record }),
        keysOf: (id) => secrets.describe(database.reader, id, clock.now()),
        publishedKeysOf: (id) => secrets.published(database.reader, id, clock.now()),
        signaturesOf: (detail) => pastSignatures({ db: database.reader, secrets, clock }, detail),
        deliveryLog: new DeliveryLog(database, cursors),
        replay: new Replay(database, clock, record),
        owners: new Owners({ database, cursors, clock, health, record }),
        jobs: new Jobs(database, clock, record),
      }),
  }
}

function replayWorker({ database, clock, log }: EmittingParts): JobWorker {
  return new JobWorker({
    name: 'replays',
    kind: 'replay',
    step: (tx, job, limit, now) => replayStep(database.engine, tx, job, { limit, now }),
    signal: 'deliveries',
    database,
    clock,
    log,
  })
}

function createEmitter(
  { configuration, config = {}, database, clock, otherBuiltIn }: EmittingParts,
  generation: () => number,
): { catalogue: EventCatalogue; emitter: Emitter } {
  const { engine } = database
  const catalogue = readCatalogue(config, { ...builtInTypes, ...otherBuiltIn })
  const fanOut = new FanOut({
    engine,
    firstDelay: configuration.emitRetrySchedule[0] ?? 0,
    ownerlessGetAll: config.ownerlessGetAll ?? false,
  })
  const saw: Database['saw'] = (...numbers) => database.saw(...numbers)
  return { catalogue, emitter: new Emitter({ engine, clock, catalogue, fanOut, generation, saw }) }
}

interface DispatcherUses {
  egress: ReturnType<typeof openEgress>
  secrets: SubscriberSecrets
  operationalEvents: OperationalEvents
}

function createDispatcher(
  { configuration, database, keyring, clock, log, metrics, random = Math.random }: EmittingParts,
  { egress, secrets, operationalEvents }: DispatcherUses,
): { dispatcher: Dispatcher; health: Health } {
  const { emitRetrySchedule: schedule, emitTimeout: timeout } = configuration
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'the session that owns the subscriber queues failed')
  const health = new Health({ database, clock, log, retention: configuration.payloadRetention })
  const dispatcher = new Dispatcher({
    database,
    store: openDeliveryStore({ database, clock, onError }),
    destinations: new Destinations({ database, keyring, secrets, defaults: { timeout, schedule } }),
    attempt: createAttempt({ agents: egress.agents, clock }),
    health,
    operationalEvents,
    metrics: deliveryMetrics(metrics),
    clock,
    random,
    log,
    close: async () => {
      await Promise.all([health.stop(), egress.close()])
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

interface DeliveryStoreParts {
  database: Database
  clock: Clock
  onError: (error: unknown) => void
}

export function openDeliveryStore({ database, clock, onError }: DeliveryStoreParts): DeliveryStore {
  return database.engine === 'sqlite'
    ? sqliteDeliveryStore(database)
    : postgresDeliveryStore({ database, clock, onError })
}
