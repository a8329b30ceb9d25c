import { Problem } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { EventLog } from '../log.ts'
import { presentEvent } from '../present.ts'
import type { EventRow } from '../store.ts'
import { sql } from 'kysely'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { type PeriodicWorker, periodicWorker } from '../../runtime/worker.ts'
import { Readable } from 'node:stream'
import type { ModuleParts } from '../../http/service-module.ts'

/** What a page can follow. A `changed` message names the topics of which something changed. */
export const topics = [
  'alerts',
  'apps',
  'audit',
  'customers',
  'data',
  'deliveries',
  'failures',
  'handlers',
  'jobs',
  'keys',
  'sources',
  'subscribers',
  'users',
] as const

type Topic = (typeof topics)[number]

/** The topics of audit actions, by the part of the action's name before the dot. */
const ofActions: Readonly<Record<string, readonly Topic[]>> = {
  alert: ['alerts'],
  app: ['apps', 'users'],
  client: ['apps'],
  customer: ['customers'],
  delivery: ['deliveries'],
  device: ['apps', 'users'],
  event: ['failures'],
  failure: ['failures'],
  handler: ['handlers', 'failures'],
  identity: ['users'],
  import: ['jobs', 'data'],
  item: ['data'],
  job: ['jobs'],
  key: ['keys'],
  list: ['data'],
  portal: ['customers'],
  replay: ['jobs', 'deliveries'],
  reprocess: ['jobs', 'failures'],
  session: ['users'],
  sign_in: ['users'],
  source: ['sources'],
  subscriber: ['subscribers', 'customers'],
  tokens: ['apps', 'users'],
  user: ['users'],
}

/** The topics that an entry of the audit log is about. */
function topicsOfAction(action: string): readonly Topic[] {
  const subject = action.split('.', 1)[0]!
  return ['audit', ...(Object.hasOwn(ofActions, subject) ? ofActions[subject]! : [])]
}

/** Milliseconds between two looks at the database, while there are viewers. */
const lookEvery = 1_000
/** Milliseconds between two heartbeats. */
const beatEvery = 15_000
/** Milliseconds after which a browser connects again. */
const retryAfter = 3_000
/** Connections of one process, and of one person to it. */
export const mostViewers = { process: 500, person: 20 }

interface LiveHubParts extends Pick<ModuleParts, 'database' | 'clock'> {
  log: EventLog
  logger: Log
}

/**
 * Tells the viewers of this process what changes. One query serves all of them. Without viewers, no query is made.
 * Each process looks for itself, so viewers see what other processes do.
 */
export class LiveHub {
  readonly #parts: LiveHubParts
  readonly #feed: EventFeed
  readonly #watch: ChangeWatch
  readonly #viewers = new Set<Viewer>()
  #begun: Promise<void> | undefined
  #rounds: PeriodicWorker[] = []
  #closed = false

  constructor(parts: LiveHubParts) {
    this.#parts = parts
    this.#feed = new EventFeed(parts.log)
    this.#watch = new ChangeWatch(parts.database)
    parts.database.onSetBack(() => this.#end())
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /**
   * Adds a viewer until its stream closes.
   * @param lastEvent the newest event that it has; undefined for a new one
   * @throws Problem `overloaded`, `stopping`; StorageUnavailable
   */
  async add(viewer: Viewer, lastEvent: number | undefined): Promise<void> {
    if (this.#closed) throw new Problem('stopping', { retryAfter: 1 })
    const own = [...this.#viewers].filter(({ person }) => person === viewer.person)
    if (this.#viewers.size >= mostViewers.process || own.length >= mostViewers.person)
      throw new Problem('overloaded', { retryAfter: 30, detail: 'Too many live connections are open.' })
    this.#viewers.add(viewer)
    viewer.stream.once('close', () => this.#remove(viewer))
    try {
      await (this.#begun ??= this.#start())
    } catch (error) {
      this.#begun = undefined
      viewer.stream.destroy()
      throw error
    }
    viewer.send(helloMessage(this.#feed.position, { retryAfter, resumes: lastEvent !== undefined }))
    if (lastEvent !== undefined) this.#resume(viewer, lastEvent)
  }

  /** Ends all connections, and refuses new ones. */
  close(): void {
    this.#closed = true
    this.#end()
  }

  #end(): void {
    for (const viewer of this.#viewers) viewer.end()
  }

  /** Sends what came meanwhile. What changed besides is unknown, so that pages read everything again. */
  #resume(viewer: Viewer, lastEvent: number): void {
    const missed = this.#feed.since(lastEvent)
    if (missed) for (const row of missed) viewer.send(eventMessage(row, row.id))
    else viewer.send(gapMessage(this.#feed.position))
    viewer.send(changedMessage(topics))
  }

  async #start(): Promise<void> {
    this.#watch.forget()
    await this.#feed.start()
    await this.#watch.look()
    this.#stopRounds()
    // All may have left meanwhile.
    if (this.#viewers.size === 0) return
    const { clock } = this.#parts
    const begun = this.#begun
    this.#rounds = [
      periodicWorker('live changes', clock, lookEvery, () => this.#look(begun)),
      periodicWorker('live heartbeats', clock, beatEvery, () => this.#send(heartbeat)),
    ]
    for (const round of this.#rounds) round.start()
  }

  #remove(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    if (this.#viewers.size > 0) return
    this.#stopRounds()
    this.#begun = undefined
  }

  #stopRounds(): void {
    for (const round of this.#rounds.splice(0)) void round.stop()
  }

  async #look(begun: Promise<void> | undefined): Promise<void> {
    try {
      const changes = await this.#watch.look()
      const news = await this.#feed.look(changes.events)
      if (begun === this.#begun) await this.#publish(news, changes.topics)
    } catch (error) {
      // The next look finds what this one did not.
      this.#parts.logger.warn({ err: error }, 'live pages could not be notified of changes')
    }
  }

  async #publish({ added, changed, gap }: News, about: ReadonlySet<Topic>): Promise<void> {
    const { position } = this.#feed
    const messages = gap ? [gapMessage(position)] : []
    // First, because the changes have the id of the last one: a viewer that is cut off between them resumes behind that.
    for (const row of added) messages.push(eventMessage(row, row.id))
    for (const row of changed) messages.push(eventMessage(row, position))
    if (about.size > 0) messages.push(changedMessage(about))
    if (messages.length === 0) return
    await this.#send(Buffer.concat(messages))
  }

  /**
   * A credential may have ended since the last message: each is checked before anything is sent. Viewers that are added meanwhile
   * have the news already.
   */
  async #send(bytes: Buffer): Promise<void> {
    const present = [...this.#viewers]
    const allowed = new Map<string, boolean>()
    for (const { credential, isAllowed } of present)
      // Without a database nobody is allowed: the browser connects again after a while. The look logs the error.
      if (!allowed.has(credential)) allowed.set(credential, await isAllowed().catch(() => false))
    for (const viewer of present)
      if (allowed.get(viewer.credential) === true) viewer.send(bytes)
      else viewer.end()
  }
}

/** Messages as bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html), written once for all viewers. */
const heartbeat = Buffer.from(': heartbeat\n\n')

/**
 * The first message of each connection.
 * @param options.retryAfter milliseconds after which a browser connects again
 * @param options.resumes whether events up to `position` follow: then the message has no id, so that a viewer that is cut off before they
 *   came asks for them again
 */
function helloMessage(
  position: number,
  { retryAfter, resumes }: { retryAfter: number; resumes: boolean },
): Buffer {
  const hello = text('hello', { position }, resumes ? undefined : position)
  return Buffer.from(`retry: ${retryAfter}\n${hello}`)
}

/** A new event, or one whose status changed. @param position the newest event that was sent, from which a viewer resumes */
function eventMessage(row: EventRow, position: number): Buffer {
  return Buffer.from(text('event', presentEvent(row), position))
}

function changedMessage(topics: Iterable<Topic>): Buffer {
  return Buffer.from(text('changed', { topics: [...topics].toSorted() }))
}

/** More events came than are sent one by one: pages read what they show again. */
function gapMessage(position: number): Buffer {
  return Buffer.from(text('gap', { position }, position))
}

function text(name: string, data: object, id?: number): string {
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}

/** The newest rows of each table that one look compares with those of the look before. */
interface Recent {
  kind: 'failure' | 'delivery' | 'dead' | 'job' | 'refusal' | 'audit'
  id: string
  state: string
}

interface Changes {
  topics: Set<Topic>
  /** Received events whose last attempt failed, or that a retry has processed. */
  events: number[]
}

/**
 * One statement for all tables. Each part is the end of an index, so its cost does not depend on the size of the tables.
 * A row that commits late is still among the newest ones at the next look.
 */
const recent = sql<Recent>`
  select 'failure' as kind, cast(event as text) as id, status || ' ' || failed_at as state from (
    select event, status, failed_at from event_queue where failed_at is not null order by failed_at desc limit 50) f
  union all select 'delivery', cast(id as text), status || ' ' || attempts from (
    select id, status, attempts from deliveries order by id desc limit 100) d
  union all select 'dead', cast(id as text), cast(finished_at as text) from (
    select id, finished_at from deliveries where status = 'dead' order by finished_at desc limit 20) e
  union all select 'job', id, status || ' ' || done from (
    select id, status, done from jobs order by id desc limit 20) j
  union all select 'refusal', cast(id as text), '' from (
    select id from rejected_webhooks order by id desc limit 5) r
  union all select 'audit', cast(seq as text), action from (
    select seq, action from audit_log order by seq desc limit 50) a`

const topicsOf: Readonly<Record<Exclude<Recent['kind'], 'audit'>, readonly Topic[]>> = {
  failure: ['failures', 'handlers'],
  delivery: ['deliveries'],
  dead: ['deliveries', 'subscribers'],
  job: ['jobs'],
  refusal: ['sources'],
}

/** Compares the newest rows of the tables that pages show with those of the look before. */
class ChangeWatch {
  readonly #database: Database
  #before: ReadonlyMap<string, string> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** The next look has nothing to compare with, and finds no changes. */
  forget(): void {
    this.#before = undefined
  }

  /** @throws StorageUnavailable */
  async look(): Promise<Changes> {
    const { rows } = await recent.execute(this.#database.slowReader)
    const before = this.#before
    const now = new Map<string, string>()
    const changes: Changes = { topics: new Set(), events: [] }
    for (const { kind, id, state } of rows) {
      const key = `${kind} ${id}`
      now.set(key, state)
      if (!before || before.get(key) === state) continue
      const about = kind === 'audit' ? topicsOfAction(state) : topicsOf[kind]
      for (const topic of about) changes.topics.add(topic)
      if (kind === 'failure') changes.events.push(Number(id))
    }
    this.#before = now
    return changes
  }
}

/** New events of one look that are sent one by one. */
const mostNew = 50
/** The newest events that are buffered, from which viewers resume. */
const bufferSize = 200
/** Recent events whose status may still change and is read again at each look. */
const mostUnsettled = 200

const unsettled: ReadonlySet<EventRow['status']> = new Set(['pending', 'retrying', 'blocked'])

interface News {
  /** New events, oldest first. */
  added: EventRow[]
  /** Events whose status changed. */
  changed: EventRow[]
  /** Whether more events came than `added` has: then it has the newest ones. */
  gap: boolean
}

/** What is new at the end of the event log, and which of the recent events changed. */
class EventFeed {
  readonly #log: EventLog
  #position = 0
  #buffer: EventRow[] = []
  /** All events above this number are in the buffer. */
  #bufferedFrom = 0
  readonly #unsettled = new BoundedCache<number, EventRow['status']>(mostUnsettled)

  constructor(log: EventLog) {
    this.#log = log
  }

  /** The newest event that was found. */
  get position(): number {
    return this.#position
  }

  /** Begins at the end of the log. @throws StorageUnavailable */
  async start(): Promise<void> {
    const { rows } = await this.#log.newest(Number.MAX_SAFE_INTEGER, bufferSize)
    this.#unsettled.clear()
    this.#position = rows[0]?.id ?? 0
    this.#bufferedFrom = 0
    this.#setBuffer(rows.toReversed(), rows.length === bufferSize)
    for (const row of this.#buffer) this.#note(row)
  }

  /**
   * @param others further events that may have changed
   * @throws StorageUnavailable
   */
  async look(others: readonly number[]): Promise<News> {
    const before = new Map(this.#unsettled)
    const found = await this.#log.some([...new Set([...before.keys(), ...others])])
    const changed = found.filter(({ id, status }) => id <= this.#position && before.get(id) !== status)
    // Also those that were deleted.
    this.#unsettled.clear()
    for (const row of found) this.#note(row)
    const { rows, hasNext } = await this.#log.page(this.#position, mostNew)
    const added = hasNext
      ? (await this.#log.newest(Number.MAX_SAFE_INTEGER, mostNew)).rows.toReversed()
      : rows
    for (const row of added) this.#note(row)
    this.#position = added.at(-1)?.id ?? this.#position
    this.#setBuffer(hasNext ? added : [...this.#buffer, ...added], hasNext)
    return { added, changed, gap: hasNext }
  }

  /** The events behind `position`, oldest first; undefined if more came than the buffer holds. */
  since(position: number): EventRow[] | undefined {
    return position < this.#bufferedFrom ? undefined : this.#buffer.filter(({ id }) => id > position)
  }

  /** @param cut whether there are older events that `rows` does not have */
  #setBuffer(rows: EventRow[], cut: boolean): void {
    this.#buffer = rows.slice(-bufferSize)
    if ((cut || rows.length > bufferSize) && rows.length > 0) this.#bufferedFrom = this.#buffer[0]!.id - 1
  }

  #note({ id, status }: EventRow): void {
    this.#unsettled.delete(id)
    if (unsettled.has(status)) this.#unsettled.set(id, status)
  }
}

/** Bytes that may wait for a viewer that does not read. */
const mostWaiting = 256 * 1024

/** One open connection. Its messages are never buffered without bound: a viewer that does not read them is disconnected. */
export class Viewer {
  readonly stream: Readable
  /** Who it is, for the limit per person. */
  readonly person: string
  /** Whether the credential with which the connection began is still valid. */
  readonly isAllowed: () => Promise<boolean>
  /** Viewers with equal credentials are allowed alike, so that one check serves them. */
  readonly credential: string
  #ended = false

  constructor({ person, credential, isAllowed }: Pick<Viewer, 'person' | 'credential' | 'isAllowed'>) {
    this.person = person
    this.credential = credential
    this.isAllowed = isAllowed
    this.stream = new Readable({ read: () => undefined })
  }

  send(message: Buffer): void {
    const { stream } = this
    if (stream.destroyed || this.#ended) return
    stream.push(message)
    if (stream.readableLength > mostWaiting) stream.destroy()
  }

  /** Ends the answer. The browser connects again after a while. */
  end(): void {
    this.#ended = true
    if (!this.stream.destroyed) this.stream.push(null)
  }
}
