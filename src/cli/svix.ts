import type { Configuration } from '../config/environment.ts'
import type { PosternConfig } from '../define-config.ts'
import { readSymmetricKey } from '../emitting/subscribers/secrets.ts'
import { openHeaders } from '../emitting/subscribers/credentials.ts'
import { recordPast } from '../emitting/events/recorded-events.ts'
import { eventTypePattern, type NewEvent, prepareEvent } from '../emitting/events/event.ts'
import { createBase } from '../emitting/parts.ts'
import { Problem } from '../errors.ts'
import { messageIdOf } from '../emitting/svix/ids.ts'
import { StoredEventTypes } from '../emitting/events/stored-event-types.ts'
import { readCustomHeaders } from '../emitting/subscribers/request-options.ts'
import type { EventOwner } from '../emitting/subscribers/owner-directory.ts'
import { NewSubscriberBody, readSettings } from '../emitting/subscribers/subscriber-body.ts'
import { checkedUrl } from '../emitting/subscribers/subscriber-rules.ts'
import { Subscribers } from '../emitting/subscribers/subscribers.ts'
import { retrySchedule } from '../emitting/svix/endpoints.ts'
import { replacement, type EventTypeBody } from '../emitting/svix/event-types.ts'
import { createCheck, InvalidRecord } from '../listing/importing/target.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import { createLog } from '../telemetry/log.ts'
import { readKeyring } from './settings.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandFailure } from './command-failure.ts'
import { serviceClient, Unavailable, type ServiceClient } from './service-client.ts'

/** Common fields of applications and endpoints. Older servers return only `rateLimit` and `filterTypes`. */
interface Entity {
  id: string
  uid?: string | null
  throttleRate?: number | null
  rateLimit?: number | null
  metadata?: Record<string, string>
  updatedAt: string
}

export interface SvixApplication extends Entity {
  name: string
}

export interface SvixEndpoint extends Entity {
  url: string
  description?: string
  disabled?: boolean
  eventTypes?: string[] | null
  filterTypes?: string[] | null
  channels?: string[] | null
}

export interface SvixEventType extends EventTypeBody {
  description: string
  updatedAt: string
}

interface SvixSecrets {
  /** `whsec_…`, or a key pair's public key, `whpk_…`. */
  key: string
  headers: Record<string, string>
  /** Names of headers whose values Svix does not return. */
  sensitive: string[]
}

interface SvixMessage {
  id: string
  eventId?: string | null
  eventType: string
  payload: object
  channels?: string[] | null
  tags?: string[] | null
  timestamp: string
  /** Set for a message that Svix sends later. */
  deliverAt?: string | null
}

interface Page<Item> {
  data: Item[]
  iterator: string | null
  done: boolean
}

/** Seconds before each retry, while the server is unavailable or limits the rate. */
const pauses = [1, 2, 5, 10, 30]

/** Milliseconds after a time within which Svix's server searches for the first message. */
const longestQuery = 90 * 86_400_000

/** Reads a running Svix server. */
export class SvixSource {
  readonly #client: ServiceClient
  readonly #signal: AbortSignal

  /** @param signal ends the pauses between retries */
  constructor(url: string, token: string, signal: AbortSignal) {
    const keyAdvice = 'set SVIX_AUTH_TOKEN to an API token of this environment'
    this.#client = serviceClient({ url, key: token, keyAdvice })
    this.#signal = signal
  }

  /** The pages of a list, each with its iterator. @throws CommandFailure */
  async *pages<Item>(
    path: string,
    query: Record<string, string>,
    iterator?: string,
  ): AsyncGenerator<{ items: Item[]; at: string | undefined }> {
    for (let at = iterator; ;) {
      const page = await this.#page<Item>(path, { ...query, iterator: at })
      yield { items: page.data, at }
      if (page.done || page.iterator === null || page.iterator === at) return
      at = page.iterator
    }
  }

  /** An application's messages since a time, in pages, oldest first. */
  async *messages(application: string, since: number): AsyncGenerator<SvixMessage[]> {
    const path = `/api/v1/app/${application}/msg`
    const query = { limit: '250', with_content: 'true' }
    for (let from: Record<string, string> = { after: isoTime(since) }; ;) {
      const page = await this.#page<SvixMessage>(path, { ...query, ...from })
      if (page.data.length === 0) {
        since += longestQuery
        if (!from['after'] || since > Date.now()) return
        from = { after: isoTime(since) }
        continue
      }
      yield page.data.toReversed()
      // An iterator with a hyphen goes back in Svix's list, which is newest first.
      from = { iterator: `-${page.data[0]!.id}` }
    }
  }

  async #page<Item>(path: string, query: Record<string, string | undefined>): Promise<Page<Item>> {
    const page = await this.#get<Page<Item>>(path, query)
    if (!Array.isArray(page.data)) throw this.#isNoSvix(path)
    return page
  }

  async secretsOf(application: string, endpoint: string): Promise<SvixSecrets> {
    const path = `/api/v1/app/${application}/endpoint/${endpoint}`
    const [{ key }, { headers, sensitive }] = await Promise.all([
      this.#get<SvixSecrets>(`${path}/secret`),
      this.#get<SvixSecrets>(`${path}/headers`),
    ])
    return { key, headers, sensitive }
  }

  async #get<Answer>(path: string, query?: Record<string, string | undefined>): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#client.read<Answer>(path, query)
      } catch (error) {
        if (error instanceof SyntaxError) throw this.#isNoSvix(path)
        const seconds = pauses[attempt]
        if (!(error instanceof Unavailable) || seconds === undefined || this.#signal.aborted) throw error
        await pause(seconds * 1000, undefined, { signal: this.#signal }).catch(() => undefined)
      }
    }
  }

  #isNoSvix(path: string): CommandFailure {
    const url = `${this.#client.service}${path}`
    return new CommandFailure(`${url} did not return a response of a Svix server: check --from`)
  }
}

export type Outcome = 'created' | 'updated' | 'unchanged'

const origin = { actor: 'cli' }
const checkEndpoint = createCheck(NewSubscriberBody)
const isEventType = new RegExp(eventTypePattern)
/** Each message takes several statements, and a transaction may take ten seconds, also on a slow database. */
const messagesPerTransaction = 25

/**
 * Writes a Svix server's entries to a database. An existing entry changes only if it is newer at Svix. An entry that the API would reject
 * throws its Problem, or InvalidRecord.
 */
export class SvixTarget {
  readonly #isDryRun: boolean
  readonly #base: ReturnType<typeof createBase>
  readonly #types: StoredEventTypes
  readonly #subscribers: Subscribers

  /**
   * @param config of the configuration module
   * @throws CommandFailure without a master secret
   */
  constructor(
    configuration: Configuration,
    config: PosternConfig | undefined,
    database: Database,
    isDryRun: boolean,
  ) {
    const { eventTypes = {} } = config?.emitting ?? {}
    const parts = {
      configuration,
      database,
      clock,
      keyring: readKeyring(configuration),
      log: createLog('warn'),
    }
    const base = createBase({ ...parts, config: { eventTypes } })
    const operationalEvents = { publishDisabled: async () => {} }
    this.#isDryRun = isDryRun
    this.#base = base
    this.#types = new StoredEventTypes(base, base.catalogue)
    this.#subscribers = new Subscribers({ ...base, operationalEvents, changed: () => {} })
  }

  close(): Promise<void> {
    return this.#base.egress.close()
  }

  async eventType(given: SvixEventType): Promise<readonly [Outcome, true]> {
    const type = given.name
    if (!isEventType.test(type)) throw new InvalidRecord(`the name must match ${eventTypePattern}`)
    const before = await this.#types.get(type)
    if (before && before.updatedAt >= Date.parse(given.updatedAt)) return ['unchanged', true]
    if (!this.#isDryRun) await this.#types.change([type], origin, () => [replacement(type, given)])
    return [before ? 'updated' : 'created', true]
  }

  /** Its owner is the application's uid, or its id. */
  async application(given: SvixApplication): Promise<readonly [Outcome, EventOwner]> {
    const { id, uid, name, metadata = {}, updatedAt } = given
    const before = await this.#base.directory.find(uid ?? id)
    const owner = before?.owner ?? uid ?? id
    // An owner without a name was not imported: its first endpoint created it.
    if (before?.name && before.updatedAt >= Date.parse(updatedAt)) return ['unchanged', before]
    const rateLimit = given.throttleRate ?? given.rateLimit ?? null
    const record = this.#isDryRun
      ? { eventsAfter: 0, createdAt: 0, ...before, owner }
      : await this.#base.directory.change(owner, { name, metadata, rateLimit }, origin)
    return [before ? 'updated' : 'created', record]
  }

  /**
   * Without a uid, the endpoint's id becomes its uid, so programs still find it. An endpoint whose requests would fail is paused, so its
   * events wait.
   * @returns also the steps that are necessary before it can be active
   */
  async endpoint(
    owner: string,
    given: SvixEndpoint,
    readSecrets: () => Promise<SvixSecrets>,
  ): Promise<readonly [Outcome, string[]]> {
    const uid = given.uid ?? given.id
    const before = await this.#subscribers.find(owner, uid)
    if (before && before.updated_at >= Date.parse(given.updatedAt)) return ['unchanged', []]
    const { key, headers, sensitive } = await readSecrets()
    const stored = before ? openHeaders(this.#base.keyring, before) : {}
    const hidden = sensitive.filter((name) => stored[name.toLowerCase()] === undefined)
    for (const name of sensitive) if (!hidden.includes(name)) headers[name] = stored[name.toLowerCase()]!
    const toDo = hidden.map((name) => `set its header ${name}, whose value Svix does not show`)
    // Svix returns only a key pair's public key.
    const secret = key.startsWith('whsec_') ? key : undefined
    if (secret === undefined && !before) toDo.push('send its owner the new ed25519 public key')
    const { signing, ...settings } = checkEndpoint(bodyOf(given, uid, headers))
    const mustWait = toDo.length > 0 || before?.status === 'paused'
    const status = given.disabled ? 'disabled' : mustWait ? 'paused' : 'active'
    const all = {
      ...readSettings(settings),
      retrySchedule,
      owner,
      status,
      signing: secret === undefined ? 'v1a' : signing,
    } as const
    // A dry run checks the same.
    checkedUrl(given.url, this.#base.egress.of(owner))
    readCustomHeaders(headers)
    if (secret !== undefined) readSymmetricKey(secret)
    if (this.#isDryRun) return [before ? 'updated' : 'created', toDo]
    if (!before) await this.#subscribers.create({ ...all, secret }, 'all', origin)
    else {
      const rotation = secret === undefined ? undefined : { overlap: 0, secret, scheme: 'v1' as const }
      await this.#subscribers.change(before.id, all, 'all', origin, rotation)
    }
    return [before ? 'updated' : 'created', toDo]
  }

  /**
   * Records messages without sending them.
   * @returns the number of new messages. It excludes messages that were imported before or that Svix sends later. Invalid ones go to `skip`.
   */
  async messages(
    owner: EventOwner,
    given: readonly SvixMessage[],
    skip: (message: SvixMessage, problem: Problem) => void,
  ): Promise<number> {
    const now = clock.now()
    const due = given.filter(({ deliverAt }) => !(deliverAt && Date.parse(deliverAt) > now))
    let created = 0
    for (let first = 0; first < due.length; first += messagesPerTransaction)
      created += await this.#record(owner, due.slice(first, first + messagesPerTransaction), skip)
    return created
  }

  #record(
    owner: EventOwner,
    given: readonly SvixMessage[],
    skip: (message: SvixMessage, problem: Problem) => void,
  ): Promise<number> {
    const { database } = this.#base
    return database.transaction(async (tx) => {
      let created = 0
      for (const message of given)
        try {
          const [event, at] = [eventOf(owner, message), Date.parse(message.timestamp)]
          const isNew = this.#isDryRun
            ? !(await isKnown(tx, prepareEvent(event, at).eventId))
            : await recordPast(database.engine, tx, event, at)
          if (isNew) created += 1
        } catch (error) {
          if (!(error instanceof Problem)) throw error
          skip(message, error)
        }
      return created
    })
  }
}

async function isKnown(tx: Tx, id: string): Promise<boolean> {
  const found = tx.selectFrom('idempotency_keys').select('event').where('event_id', '=', id)
  return (await found.executeTakeFirst()) !== undefined
}

/** A message's event. Postern's Svix API recognizes a repeated message by the event's id. */
function eventOf(owner: EventOwner, given: SvixMessage): NewEvent {
  const { id, eventId, eventType, payload, channels, tags } = given
  return {
    id: eventId ? messageIdOf('eventId', owner, eventId) : id,
    uid: eventId || undefined,
    type: eventType,
    data: payload,
    audience: owner.owner,
    channels: channels?.length ? channels : undefined,
    tags: tags?.length ? tags : undefined,
  }
}

/** The body of `POST /subscribers`. */
function bodyOf(given: SvixEndpoint, uid: string, headers: Record<string, string>) {
  return {
    url: given.url,
    uid,
    description: given.description || null,
    eventTypes: given.eventTypes ?? given.filterTypes ?? ['*'],
    channels: given.channels ?? null,
    metadata: given.metadata ?? {},
    rateLimit: given.throttleRate ?? given.rateLimit ?? null,
    headers,
    signing: 'v1',
    signatureHeaders: 'svix',
    body: 'data',
  }
}
