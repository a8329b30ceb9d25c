import { createRecordAudit, type RecordAudit } from '../accounts/audit/audit.ts'
import type { NoteRefusal } from '../accounts/refusals.ts'
import { ConfigurationError } from '../config/environment.ts'
import { JobWorker } from '../events/jobs.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Clock, Random } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { createAttempt, openEgress, type SubscriberEgress } from './attempt/attempt.ts'
import type { EmittingConfig, EventTypeDeclaration } from './config.ts'
import { DeliveryLog } from './deliveries/delivery-log.ts'
import { Jobs } from './deliveries/jobs.ts'
import { missingStep } from './deliveries/missing.ts'
import { Replay, type ReplayFilter, replayStep } from './deliveries/replay.ts'
import { deliveryMetrics } from './dispatch/delivery-attempts.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { Endpoints } from './dispatch/endpoints.ts'
import { type DisablingPolicy, OperationalEvents } from './dispatch/operational-events.ts'
import { builtInTypes, TestEvents } from './events/built-in-types.ts'
import { type Announce, Emitter } from './events/emitter.ts'
import { EventCatalogue } from './events/event-catalogue.ts'
import { FanOut } from './events/fan-out.ts'
import { PayloadRemoval } from './events/payload-removal.ts'
import { ScheduledEvents } from './events/scheduled-events.ts'
import { StoredEventTypes } from './events/stored-event-types.ts'
import { Portal } from './portal.ts'
import { postgresDeliveryStore } from './store.postgres.ts'
import { sqliteDeliveryStore } from './store.sqlite.ts'
import type { DeliveryStore } from './store.ts'
import { closeDestinations, type Destinations, readDestinations } from './subscribers/destinations.ts'
import { Health } from './subscribers/health.ts'
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

export function createParts(parts: EmittingParts) {
  const { configuration, database, keyring, clock } = parts
  const egress = openEgress(configuration)
  const cursors = new Cursors(keyring)
  const record = createRecordAudit(clock)
  const secrets = new SubscriberSecrets(keyring)
  const sandbox = new Sandbox(parts.log)
  const stores = { database, keyring, secrets, cursors, clock, record, sandbox }
  const destinations = readDestinations(parts.config?.destinations)
  const emits = createEmitter(parts, record, () => dispatcher)
  const { emitter, scheduledEvents } = emits
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
  const { dispatcher, health } = createDispatcher({
    ...parts,
    ...stores,
    egress,
    operationalEvents,
    destinations,
  })
  const announce: Announce = (emitted) => {
    dispatcher.offer(emitted.map(({ committed }) => committed))
    scheduledEvents.announce(emitted)
  }
  return {
    ...parts,
    ...stores,
    ...emits,
    announce,
    dispatcher,
    health,
    disabling,
    subscribers,
    destinations,
    portal: new Portal(database, clock, record),
    brands: new OwnerBrands(database, clock, record),
    portalCookie: new HostCookie('postern_portal', parts.baseUrl),
    testEvents: new TestEvents({ database, clock, emitter, subscribers, announce, record }),
    deliveryLog: new DeliveryLog(database, cursors),
    replay: new Replay(database, clock, record),
    owners: new Owners({ database, cursors, clock, health, record, subscribers }),
    jobs: new Jobs(database, clock, record),
  }
}

function createEmitter(parts: EmittingParts, record: RecordAudit, dispatcher: () => Dispatcher) {
  const { configuration, config = {}, database, clock } = parts
  const { engine } = database
  const catalogue = readCatalogue(config, { ...builtInTypes, ...parts.otherBuiltIn })
  const fanOut = new FanOut({
    engine,
    firstDelay: configuration.emitRetrySchedule[0] ?? 0,
    ownerlessGetAll: config.ownerlessGetAll ?? false,
  })
  const saw: Database['saw'] = (...numbers) => database.saw(...numbers)
  const scheduledEvents = new ScheduledEvents({ ...parts, fanOut, record })
  const forget = (nonce: number): void => dispatcher().forgetPayload(nonce)
  const generation = (): number => dispatcher().generation
  const scheduled = (earliest: number): void => scheduledEvents.expect(earliest)
  const payloadRemoval = new PayloadRemoval({ ...parts, record, forget })
  const replays = new JobWorker({
    ...parts,
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
    catalogue,
    storedEventTypes: new StoredEventTypes({ database, clock, record }, catalogue),
    emitter: new Emitter({ engine, clock, catalogue, fanOut, generation, saw, scheduled }),
    scheduledEvents,
    payloadRemoval,
    workers: [scheduledEvents, payloadRemoval.worker, replays, removalWorker(parts)],
  }
}

interface DispatcherParts extends EmittingParts {
  egress: SubscriberEgress
  secrets: SubscriberSecrets
  operationalEvents: OperationalEvents
  destinations: Destinations
  sandbox: Sandbox
}

function createDispatcher(parts: DispatcherParts): { dispatcher: Dispatcher; health: Health } {
  const { configuration, database, clock, log, egress, destinations, sandbox } = parts
  const { emitRetrySchedule: schedule, emitTimeout: timeout } = configuration
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'the session that owns the subscriber queues failed')
  const health = new Health({ database, clock, log, retention: configuration.payloadRetention })
  const dispatcher = new Dispatcher({
    database,
    store: openDeliveryStore(database, clock, onError),
    endpoints: new Endpoints({ ...parts, defaults: { timeout, schedule } }),
    attempt: withTransformations(createAttempt({ agents: egress.agents, clock }), { sandbox, clock }),
    health,
    operationalEvents: parts.operationalEvents,
    metrics: deliveryMetrics(parts.metrics),
    clock,
    random: parts.random ?? Math.random,
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
