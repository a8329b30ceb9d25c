import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { newId } from '../../crypto/ids.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { SubscriberEgress } from '../attempt/attempt.ts'
import type { PageOfRows, PageRequest } from '../../paging/parameters.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { SigningScheme, Row } from '../../storage/tables.ts'
import { type Reach, reaches } from '../events/event.ts'
import { describeSubscriber, recordChange, subscriberTarget } from './subscriber-audit.ts'
import { isUid, unlessTaken, writeMetadata } from './metadata.ts'
import { lockOwner, type OwnerDirectory } from './owner-directory.ts'
import { removeSubscriber } from './removal.ts'
import { schemesOf, type SecretRotation, type ShownKeys, type SubscriberSecrets } from './secrets.ts'
import {
  checkAssignment,
  checkedUrl,
  isSameServer,
  refuseOtherOwner,
  refuseTooMany,
  statusColumns,
} from './subscriber-rules.ts'
import { sql } from 'kysely'
import { readEndpointId } from '../svix/ids.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Cursors, idScope } from '../../paging/cursor.ts'
import { type Health, isInState, lastDayBegins, type SubscriberState } from './health.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { checkConditions } from './conditions.ts'
import { readCustomHeaders, readRequestOptions, writeRequestOptions } from './request-options.ts'
import {
  type Credentials,
  openCredentials,
  openHeaders,
  readCredentials,
  sealCredentials,
  sealHeaders,
  showCredentials,
} from './credentials.ts'
import {
  checkSettings,
  destinationIn,
  type Destinations,
  isOpenToOwners,
  destinationUrl,
  refuseForeign,
  requireSecrets,
} from './destinations.ts'
import type { NewSubscriber, SubscriberChange } from './subscriber-body.ts'
import type { Sandbox } from '../transformations/sandbox.ts'
import { checkTransformation, keyOf } from '../transformations/transformation.ts'

/** The most subscribers that one transaction removes: few, because it blocks all other writers on SQLite, and each takes several statements. */
const removedPerStep = 10

interface SubscribersParts {
  database: Database
  cursors: Cursors
  clock: Clock
  health: Pick<Health, 'unwritten'>
  keyring: Keyring
  secrets: SubscriberSecrets
  record: RecordAudit
  directory: OwnerDirectory
  destinations: Destinations
  egress: Pick<SubscriberEgress, 'of'>
  sandbox: Sandbox
  /** Called in the transaction that disables a subscriber. */
  operationalEvents: { publishDisabled(tx: Tx, row: Row<'subscribers'>): Promise<void> }
  /** Called after the commit of a change, so that this process applies it at once. */
  changed: (id: string) => void
}

export class Subscribers {
  readonly #parts: SubscribersParts

  constructor(parts: SubscribersParts) {
    this.#parts = parts
  }

  /**
   * Registers a subscriber. Returns its new keys, which are never shown again.
   * @param before what the transaction does first
   * @throws Problem `invalid-body`, also for a forbidden address; `conflict` if an owner has too many
   */
  async create(
    given: NewSubscriber,
    reach: Reach,
    origin: AuditOrigin,
    before?: (tx: Tx) => Promise<void>,
  ): Promise<{ row: Row<'subscribers'>; keys: ShownKeys }> {
    const { database, secrets, clock, directory } = this.#parts
    const now = clock.now()
    const id = newId(now)
    const owner = reach === 'all' ? (given.owner ?? null) : reach.owner
    const place = await this.#placeOf(given, owner, reach)
    if (given.transformation)
      await checkTransformation(this.#parts.sandbox, given.transformation, keyOf(owner, id))
    const values = {
      id,
      ...(given.status && statusColumns({ status: 'active', disabled_reason: null }, given.status, reach)),
      created_at: now,
      updated_at: now,
      ...settingsColumns(this.#parts.keyring, id, given, nothingStored),
      ...this.#credentialColumns(
        { id, url: place.url, owner },
        given.destination === undefined ? given : { secrets: given.secrets ?? {} },
        {},
      ),
      ...place,
      owner,
    }
    checkAssignment(values)
    const created = database.transaction(async (tx) => {
      await before?.(tx)
      if (owner !== null) await directory.ensure(tx, owner, origin)
      if (reach !== 'all') await refuseTooMany(database.engine, tx, reach.owner)
      const row = await tx.insertInto('subscribers').values(values).returningAll().executeTakeFirstOrThrow()
      await this.#record(tx, 'subscriber.created', row, origin)
      const rotation = { schemes: schemesOf(row.signing), now, overlap: 0, given: given.secret }
      return { row, keys: await secrets.rotate(tx, id, rotation) }
    })
    return unlessTaken(given.uid, created)
  }

  /** Finds a subscriber of an owner, by its id in Svix's form or by its uid. */
  async find(owner: string, text: string): Promise<Row<'subscribers'> | undefined> {
    const id = readEndpointId(text)
    if (id === undefined && !isUid(text)) return undefined
    return this.#parts.database.reader
      .selectFrom('subscribers')
      .selectAll()
      .where('owner', '=', owner)
      .where(id === undefined ? 'uid' : 'id', '=', id ?? text)
      .executeTakeFirst()
  }

  /** @throws Problem `not-found`, also outside the caller's reach */
  async get(
    id: string,
    reach: Reach,
    db: Queryable = this.#parts.database.reader,
  ): Promise<Row<'subscribers'>> {
    const row = await db.selectFrom('subscribers').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row || !reaches(reach, row.owner))
      throw new Problem('not-found', { detail: 'There is no endpoint with this ID.' })
    return row
  }

  /** Newest first. @throws Problem `invalid-cursor` */
  list(
    { owner, state, url }: SubscriberFilter,
    request: PageRequest,
  ): Promise<PageOfRows<Row<'subscribers'>>> {
    const { database, cursors, clock, health } = this.#parts
    const scope = idScope('subscribers', { owner, state, url })
    let query = database.slowReader
      .selectFrom('subscribers')
      .selectAll()
      .$if(owner !== undefined, (all) => all.where('owner', owner === null ? 'is' : '=', owner!))
    if (state !== undefined)
      query = query.where(
        isInState(state, { since: lastDayBegins(clock.now()), unwritten: health.unwritten }),
      )
    if (url !== undefined)
      query = query.where(
        sql<boolean>`lower(url) like ${`%${url.toLowerCase().replace(/[!%_]/g, '!$&')}%`} escape '!'`,
      )
    return cursors.newest(scope, request, query)
  }

  /**
   * Changes the given settings. A resumed subscriber gets the deliveries that waited for it. Stored headers are removed if the
   * origin of the address changes, unless they are sent again.
   * @param rotation new keys in the same transaction
   * @throws Problem as `create`, and `not-found`; `conflict` for another owner; `forbidden` for an owner who resumes what
   * an admin disabled
   */
  async change(
    id: string,
    given: SubscriberChange,
    reach: Reach,
    origin: AuditOrigin,
    rotation?: KeyRotation,
  ): Promise<{ row: Row<'subscribers'>; keys: ShownKeys }> {
    const { database, secrets, clock, keyring, egress } = this.#parts
    // Not within the transaction, because the declaration of a destination may take its time.
    const request = await this.#checkDestination(id, given, reach)
    if (given.transformation) {
      const { owner } = await this.get(id, reach)
      await checkTransformation(this.#parts.sandbox, given.transformation, keyOf(owner, id))
    }
    const changed = database.transaction(async (tx) => {
      if (rotation) await this.#rotateWithin(tx, id, reach, rotation, origin)
      const before = await this.#lock(tx, id, reach)
      refuseOtherOwner(before, given.owner)
      refuseForeign(destinationIn(before.url), given)
      const url = given.url === undefined ? undefined : checkedUrl(given.url, egress.of(before.owner))
      const stays = isSameServer(before, url, request)
      const columns = settingsColumns(
        keyring,
        id,
        // Removes stored headers together with the origin that they were for.
        { ...given, url, headers: stays ? given.headers : (given.headers ?? null) },
        { headers: stays ? openHeaders(keyring, before) : {}, request: before.request },
      )
      if (request !== undefined) columns.request = request
      const stored = openCredentials(keyring, before)
      // Stored secrets are for the settings that they were sent with: others could send them elsewhere. `[redacted]` is rejected then.
      const removed: SubscriberChange =
        request === undefined ? { auth: null, tls: null } : { secrets: showCredentials(stored).secrets ?? {} }
      const absent = stays ? {} : removed
      const { auth = absent.auth, tls = absent.tls, secrets: hidden = absent.secrets } = given
      const credentials = this.#credentialColumns(before, { auth, tls, secrets: hidden }, stays ? stored : {})
      const status = statusColumns(before, given.status, reach)
      const row = await updateSubscriber(tx, id, { ...columns, ...credentials, ...status }, clock.now())
      checkAssignment(row)
      await recordChange(this.#parts.record, tx, { before, after: row }, origin)
      if (row.status === 'disabled' && before.status !== 'disabled')
        await this.#parts.operationalEvents.publishDisabled(tx, row)
      // After a rotation to another scheme, the old scheme has only keys that end. They need no successor.
      if (given.signing === undefined) return { row, keys: {} }
      return { row, keys: await secrets.ensure(tx, id, schemesOf(row.signing), clock.now()) }
    })
    const result = await unlessTaken(given.uid, changed)
    this.#changed(id)
    database.signal('deliveries')
    return result
  }

  /** Removes it with its secrets. A job deletes its deliveries, which nobody sees from now on. @throws Problem `not-found` */
  async remove(id: string, reach: Reach, origin: AuditOrigin): Promise<void> {
    const { database } = this.#parts
    await database.transaction(async (tx) => this.#removeWithin(tx, await this.#lock(tx, id, reach), origin))
    this.#changed(id)
    database.signal('jobs')
  }

  /** Removes all subscribers of an owner, in steps. @param last runs in the transaction that removes the last ones */
  async removeAll(owner: string, origin: AuditOrigin, last: (tx: Tx) => Promise<void>): Promise<void> {
    const { database } = this.#parts
    for (let isLast = false; !isLast;) {
      const removed = await database.transaction(async (tx) => {
        // So that no subscriber is registered meanwhile.
        await lockOwner(database.engine, tx, owner)
        const own = tx.selectFrom('subscribers').select('id').where('owner', '=', owner).orderBy('id')
        const some = await own.limit(removedPerStep).execute()
        for (const { id } of some) await this.#removeWithin(tx, await this.#lock(tx, id, 'all'), origin)
        isLast = some.length < removedPerStep
        if (isLast) await last(tx)
        return some
      })
      for (const { id } of removed) this.#changed(id)
      database.signal('jobs')
    }
  }

  async #removeWithin(tx: Tx, row: Row<'subscribers'>, origin: AuditOrigin): Promise<void> {
    const { database, clock } = this.#parts
    await removeSubscriber(database.engine, tx, row.id, clock.now())
    await this.#record(tx, 'subscriber.deleted', row, origin)
  }

  /**
   * Creates new keys. Until the overlap ends, the old keys sign as well.
   * @throws Problem `not-found`; `invalid-body` for an invalid secret
   */
  async rotate(id: string, reach: Reach, rotation: KeyRotation, origin: AuditOrigin): Promise<ShownKeys> {
    const shown = await this.#parts.database.transaction((tx) =>
      this.#rotateWithin(tx, id, reach, rotation, origin),
    )
    this.#changed(id)
    return shown
  }

  async #rotateWithin(
    tx: Tx,
    id: string,
    reach: Reach,
    { overlap, secret, scheme, keepsEnds }: KeyRotation,
    origin: AuditOrigin,
  ): Promise<ShownKeys> {
    const { secrets, clock } = this.#parts
    const { signing } = await this.#lock(tx, id, reach)
    const schemes = scheme ? [scheme] : schemesOf(signing)
    const retired = schemesOf(signing).filter((one) => !schemes.includes(one))
    // Keys of the other scheme sign until they end.
    const both = scheme && retired.length > 0 && overlap > 0
    await updateSubscriber(tx, id, scheme ? { signing: both ? 'both' : scheme } : {}, clock.now())
    await this.#parts.record(tx, {
      action: 'subscriber.secret_rotated',
      target: subscriberTarget(id),
      detail: { overlapSeconds: overlap / 1000, chosen: secret !== undefined },
      ...origin,
    })
    const now = clock.now()
    return secrets.rotate(tx, id, { schemes, retired, now, overlap, keepsEnds, given: secret })
  }

  /** Returns the key as `SubscriberSecrets.reveal` does, and records the access in the same transaction. */
  revealSecret(id: string, origin: AuditOrigin): Promise<string | undefined> {
    const { database, secrets, record } = this.#parts
    return database.transaction(async (tx) => {
      await record(tx, { action: 'subscriber.secret_read', target: subscriberTarget(id), ...origin })
      return secrets.reveal(tx, id)
    })
  }

  /** Lets the owner of its queue read the subscriber again. If it was resumed, a process claims the queue. */
  #changed(id: string): void {
    this.#parts.changed(id)
    this.#parts.database.publish('subscriber', id)
  }

  #record(
    tx: Tx,
    action: 'subscriber.created' | 'subscriber.deleted',
    row: Row<'subscribers'>,
    origin: AuditOrigin,
  ): Promise<void> {
    const target = subscriberTarget(row.id)
    return this.#parts.record(tx, { action, target, detail: describeSubscriber(row), ...origin })
  }

  /** Reads it and locks its row against other changes. SQLite has one writer at a time. */
  async #lock(tx: Tx, id: string, reach: Reach): Promise<Row<'subscribers'>> {
    if (this.#parts.database.engine === 'postgres')
      await tx.selectFrom('subscribers').select('id').where('id', '=', id).forNoKeyUpdate().execute()
    return this.get(id, reach, tx)
  }

  /** Sealed again only if they change, because each seal differs. */
  #credentialColumns(
    { id, url, owner }: Pick<Row<'subscribers'>, 'id' | 'url' | 'owner'>,
    { auth, tls, secrets }: SubscriberChange,
    before: Credentials,
  ): Partial<Row<'subscribers'>> {
    if (auth === undefined && tls === undefined && secrets === undefined) return {}
    const read = readCredentials({ auth, tls, secrets }, before, this.#parts.egress.of(owner))
    if (read.secrets) requireSecrets(this.#parts.destinations, destinationIn(url)!, read.secrets)
    return { credentials: sealCredentials(this.#parts.keyring, id, read) }
  }

  /** Where a new subscriber's events go: its address, or its destination with settings. */
  async #placeOf(
    given: NewSubscriber,
    owner: string | null,
    reach: Reach,
  ): Promise<Pick<Row<'subscribers'>, 'url'> & Partial<Row<'subscribers'>>> {
    const { destination, url, settings = {} } = given
    if ((destination === undefined) === (url === undefined))
      throw invalidBody('/url', 'Either a URL or a destination is required.')
    refuseForeign(destination ?? null, given)
    if (destination === undefined) return { url: checkedUrl(url!, this.#parts.egress.of(owner)) }
    const json = await checkSettings(this.#parts.destinations, destination, settings, reach)
    return { url: destinationUrl(destination), request: json }
  }

  /** The column `request`, if settings or secrets of a destination are given. */
  async #checkDestination(
    id: string,
    { settings, secrets }: SubscriberChange,
    reach: Reach,
  ): Promise<string | undefined> {
    if (settings === undefined && secrets === undefined) return undefined
    const { url, request } = await this.get(id, reach)
    const destination = destinationIn(url)
    if (destination === null) return undefined
    if (reach !== 'all' && !isOpenToOwners(this.#parts.destinations, { url }))
      throw new Problem('forbidden', { detail: 'Only your administrator can change these settings.' })
    const chosen = settings ?? readRequestOptions(request).settings ?? {}
    return checkSettings(this.#parts.destinations, destination, chosen, reach)
  }
}

interface SubscriberFilter {
  /** `undefined`: of all; `null`: those without an owner. */
  owner?: string | null | undefined
  state?: SubscriberState | undefined
  /** A part of the address, in any case. */
  url?: string | undefined
}

/** For `updated_at`: increases even within a millisecond, because `Endpoints` caches by this column. */
export function laterThanBefore(now: number) {
  return sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`
}

function updateSubscriber(
  tx: Tx,
  id: string,
  columns: Partial<Row<'subscribers'>>,
  now: number,
): Promise<Row<'subscribers'>> {
  return tx
    .updateTable('subscribers')
    .set({ ...columns, updated_at: laterThanBefore(now) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

interface KeyRotation extends Pick<SecretRotation, 'overlap' | 'keepsEnds'> {
  secret: string | undefined
  /** The scheme of the new key. Keys of another scheme end with the overlap. Default: new keys of all schemes that the subscriber has. */
  scheme?: Exclude<SigningScheme, 'both'>
}

/**
 * Validates the given settings and returns their columns. The caller checks the address.
 * @param before the stored headers, which `[redacted]` stands for, and the stored options of requests
 */
function settingsColumns(
  keyring: Keyring,
  id: string,
  given: SubscriberChange,
  before: typeof nothingStored,
): Partial<Row<'subscribers'>> {
  const columns: Partial<Row<'subscribers'>> = {}
  if (given.url !== undefined) columns.url = given.url
  if (given.description !== undefined) columns.description = given.description
  if (given.eventTypes !== undefined) columns.event_types = JSON.stringify([...new Set(given.eventTypes)])
  if (given.retrySchedule !== undefined)
    columns.retry_schedule = given.retrySchedule && JSON.stringify(given.retrySchedule)
  if (given.timeout !== undefined) columns.timeout_ms = given.timeout
  if (given.rateLimit !== undefined) columns.rate_limit = given.rateLimit
  if (given.concurrency !== undefined) columns.concurrency = given.concurrency
  if (given.headers !== undefined)
    columns.headers = sealHeaders(keyring, id, readCustomHeaders(given.headers ?? {}, before.headers))
  columns.request = writeRequestOptions(given, before.request)
  if (given.transformation !== undefined) columns.transformation = given.transformation
  if (given.ordered !== undefined) columns.ordered = given.ordered ? 1 : 0
  if (given.signing !== undefined) columns.signing = given.signing
  if (given.httpSignature !== undefined) columns.http_signature = given.httpSignature ? 1 : 0
  if (given.conditions !== undefined) {
    checkConditions(given.conditions ?? [])
    columns.conditions = given.conditions?.length ? JSON.stringify(given.conditions) : null
  }
  if (given.channels !== undefined)
    columns.channels = given.channels?.length ? JSON.stringify([...new Set(given.channels)]) : null
  if (given.uid !== undefined) columns.uid = given.uid
  if (given.metadata !== undefined) columns.metadata = writeMetadata(given.metadata)
  if (given.operational !== undefined) columns.operational = given.operational ? 1 : 0
  return columns
}

const nothingStored: { headers: Readonly<Record<string, string>>; request: string | null } = {
  headers: {},
  request: null,
}
