import { createRecordAudit } from '../accounts/audit/audit.ts'
import type { NoteRefusal } from '../accounts/refusals.ts'
import { ConfigurationError } from '../config/environment.ts'
import { JobWorker } from '../events/jobs.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Random } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { createAttempt, openEgress } from './attempt/attempt.ts'
import type { EmittingConfig, EventTypeDeclaration } from './config.ts'
import { DeliveryLog } from './deliveries/delivery-log.ts'
import { Jobs } from './deliveries/jobs.ts'
import { missingStep } from './deliveries/missing.ts'
import { Replay, type ReplayFilter, replayStep } from './deliveries/replay.ts'
import { deliveryMetrics } from './dispatch/delivery-attempts.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { Endpoints } from './dispatch/endpoints.ts'
import { OperationalEvents } from './dispatch/operational-events.ts'
import { builtInTypes, TestEvents } from './events/built-in-types.ts'
import { Emitter } from './events/emitter.ts'
import { EventCatalogue } from './events/event-catalogue.ts'
import { FanOut } from './events/fan-out.ts'
import { PayloadRemoval } from './events/payload-removal.ts'
import { ScheduledEvents } from './events/scheduled-events.ts'
import { StoredEventTypes } from './events/stored-event-types.ts'
import { Portal } from './portal.ts'
import { postgresDeliveryStore } from './store.postgres.ts'
import { sqliteDeliveryStore } from './store.sqlite.ts'
import type { DeliveryStore } from './store.ts'
import { closeDestinations, readDestinations } from './subscribers/destinations.ts'
import { Health } from './subscribers/health.ts'
import { OwnerDirectory } from './subscribers/owner-directory.ts'
import { OwnerBrands, Owners } from './subscribers/owners.ts'
import { removalWorker } from './subscribers/removal.ts'
import { SubscriberSecrets } from './subscribers/secrets.ts'
import { Subscribers } from './subscribers/subscribers.ts'
import { Sandbox } from './transformations/sandbox.ts'
import { withTransformations } from './transformations/transformation.ts'

export interface EmittingParts extends ModuleParts {
  config?: EmittingConfig | undefined
  /** Writes refused links of the portal to the audit log. */
  noteRefusal: NoteRefusal
  /** Event types that other modules emit with `emitBuiltIn`, for the catalogue. */
  otherBuiltIn?: Readonly<Record<string, EventTypeDeclaration>>
  random?: Random
}

/** What the routes of this module use. */
export type EmittingRouteParts = ReturnType<typeof createParts>

type BaseParts = Pick<EmittingParts, 'configuration' | 'database' | 'keyring' | 'clock' | 'log'> &
  Pick<EmittingParts, 'config' | 'otherBuiltIn'>

/** What nothing else of this module is needed for. Nothing of it runs by itself. Close `egress` afterwards. */
export function createBase<Parts extends BaseParts>(parts: Parts) {
  const { configuration, database, keyring, clock, log, config = {} } = parts
  const record = createRecordAudit(clock)
  return {
    ...parts,
    egress: openEgress(configuration),
    cursors: new Cursors(keyring),
    record,
    directory: new OwnerDirectory(database, clock, record),
    secrets: new SubscriberSecrets(keyring),
    sandbox: new Sandbox(log),
    destinations: readDestinations(config.destinations),
    catalogue: readCatalogue(config, { ...builtInTypes, ...parts.otherBuiltIn }),
    fanOut: new FanOut({
      engine: database.engine,
      firstDelay: configuration.emitRetrySchedule[0] ?? 0,
      ownerlessGetAll: config.ownerlessGetAll ?? false,
    }),
    health: new Health({ database, clock, log, retention: configuration.payloadRetention }),
  }
}

type Base = ReturnType<typeof createBase<EmittingParts>>

export function createParts(given: EmittingParts) {
  const base = createBase(given)
  const { database, clock, record, cursors } = base
  const emits = createEmitter(base, () => dispatcher)
  const { emitter } = emits
  const changed = (id: string): void => dispatcher.changed(id)
  const operationalEvents = new OperationalEvents({ ...base, emitter, changed })
  const subscribers = new Subscribers({ ...base, operationalEvents, changed })
  const dispatcher: Dispatcher = createDispatcher(base, operationalEvents)
  return {
    ...base,
    ...emits,
    dispatcher,
    subscribers,
    portal: new Portal(database, clock, record),
    brands: new OwnerBrands(database, clock, record),
    portalCookie: new HostCookie('postern_portal', base.baseUrl),
    testEvents: new TestEvents({ ...base, emitter, subscribers }),
    deliveryLog: new DeliveryLog(database, cursors),
    replay: new Replay(database, clock, record),
    owners: new Owners({ ...base, subscribers }),
    jobs: new Jobs(database, clock, record),
  }
}

function createEmitter(base: Base, dispatcher: () => Dispatcher) {
  const { database, fanOut } = base
  const { engine } = database
  const scheduledEvents = new ScheduledEvents(base)
  const payloadRemoval = new PayloadRemoval({ ...base, dispatcher })
  const replays = new JobWorker({
    ...base,
    name: 'replays',
    kind: 'replay',
    step(tx, job, limit, now) {
      const { status } = JSON.parse(job.filter) as ReplayFilter
      if (status === 'missing') return missingStep({ engine, fanOut }, tx, job, { limit, now })
      return replayStep(engine, tx, job, { limit, now })
    },
    signal: 'deliveries',
  })
  return {
    storedEventTypes: new StoredEventTypes(base, base.catalogue),
    emitter: new Emitter({ ...base, dispatcher, scheduledEvents }),
    scheduledEvents,
    payloadRemoval,
    workers: [scheduledEvents, payloadRemoval.worker, replays, removalWorker(base)],
  }
}

function createDispatcher(base: Base, operationalEvents: OperationalEvents): Dispatcher {
  const { configuration, database, clock, log, egress, destinations, sandbox, health } = base
  const { emitRetrySchedule: schedule, emitTimeout: timeout } = configuration
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'the subscriber queues could not be released')
  return new Dispatcher({
    ...base,
    store: openDeliveryStore(database, onError),
    endpoints: new Endpoints({ ...base, defaults: { timeout, schedule } }),
    attempt: withTransformations(createAttempt({ agents: egress.agents, clock }), { sandbox, clock }),
    operationalEvents,
    metrics: deliveryMetrics(base.metrics),
    random: base.random ?? Math.random,
    close: async () => {
      await Promise.all([health.stop(), egress.close(), closeDestinations(destinations), sandbox.close()])
    },
  })
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

export function openDeliveryStore(database: Database, onError: (error: unknown) => void): DeliveryStore {
  return database.engine === 'sqlite'
    ? sqliteDeliveryStore(database)
    : postgresDeliveryStore(database, onError)
}
