import type { AuditEntry, AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { invalidBody, Problem } from '../../errors.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { type Client, isPrivileged, originsOf, type ClientSettings } from './client.ts'
import { rejectTooMany } from './registered-clients.ts'
import { announceClients, isClientId, newClientId, storedClient, type StoredClient } from './clients.ts'
import { nameFaults, settingsFaults } from './client-faults.ts'
import { recordLogouts } from '../../accounts/sessions/apps-of-sessions.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { newId } from '../../crypto/ids.ts'
import { hashToken, newToken } from '../../crypto/secrets.ts'

interface NewClient {
  name: string
  /** Whether it must authenticate. */
  confidential: boolean
  settings: GivenSettings
  origin: Row<'clients'>['origin']
  /** The address that registers it, if the apps of this address are limited. */
  network?: string | undefined
}

/** Who asks for a change, and whether they may make and change privileged clients. */
export interface ClientCaller {
  origin: AuditOrigin
  /** @throws Problem unless the caller has all rights of an admin */
  requireAdmin: () => void
}

interface ClientManagementParts extends Pick<ModuleParts, 'database' | 'clock'> {
  record: RecordAudit
  /** The clients of the configuration module. */
  declared: readonly Client[]
  /** Called with the algorithm of each client that is created or changed. The command line signs nothing. */
  publishKeys?: (algorithm: Client['idTokenAlgorithm']) => void
  /** The limits of registrations, for tests. */
  mostRegistered?: { all?: number; unused?: number } | undefined
}

/** Creates and changes the clients of the database. Declared clients are only listed. */
export class ClientManagement {
  readonly #parts: ClientManagementParts

  constructor(parts: ClientManagementParts) {
    this.#parts = parts
  }

  /** One client and its valid secrets. @throws Problem `not-found` */
  async get(id: string): Promise<{ client: Client | StoredClient; secrets: ListedSecret[] }> {
    const { database, declared, clock } = this.#parts
    const found = declared.find((client) => client.id === id)
    if (found) return { client: found, secrets: [] }
    const client = await this.#read(database.reader, id)
    return { client, secrets: await secretsOfClient(database.reader, id, clock.now()) }
  }

  /**
   * Stores a client. A confidential one without `jwks` gets a secret, which is never shown again.
   * @throws Problem `invalid-body`; `conflict` or `too-many-requests` when too many registered themselves
   */
  async create(
    { name, confidential, settings: given, origin: kind, network }: NewClient,
    caller: ClientCaller,
  ): Promise<{ client: StoredClient; secret: string | undefined }> {
    const { database, clock, record } = this.#parts
    const now = clock.now()
    const settings = settingsToStore(name, given, confidential)
    const id = newClientId(now)
    const row: Row<'clients'> = {
      id,
      name,
      confidential: confidential ? 1 : 0,
      origin: kind,
      settings: JSON.stringify(settings),
      created_at: now,
      updated_at: now,
      registered_from: network ?? null,
    }
    const client = storedClient(row)
    if (isPrivileged(client)) caller.requireAdmin()
    const secret = await database.transaction(async (tx) => {
      if (kind === 'registration') await rejectTooMany(tx, network, now, this.#parts.mostRegistered)
      await tx.insertInto('clients').values(row).execute()
      await writeOrigins(tx, client)
      const action = kind === 'api' ? 'client.created' : 'client.registered'
      await record(tx, { action, target: `app:${id}`, detail: { name, confidential }, ...caller.origin })
      if (!confidential || settings.jwks !== undefined) return undefined
      return (await addSecret(tx, id, { now, overlap: 0 })).secret
    })
    this.#parts.publishKeys?.(client.idTokenAlgorithm)
    return { client, secret }
  }

  /** @throws Problem `not-found`, `conflict` for a declared client, `invalid-body` */
  async change(
    id: string,
    { name, ...given }: GivenSettings & { name?: string | undefined },
    caller: ClientCaller,
  ): Promise<StoredClient> {
    const { clock, publishKeys } = this.#parts
    const changed = await this.#change(id, caller, async (tx, before) => {
      if (!before.confidential && given.jwks) throw invalidBody('/jwks', 'A public app has no keys.')
      const settings = settingsToStore(name ?? before.name, given, before.confidential, before.settings)
      const row = await tx
        .updateTable('clients')
        .set({
          name: name ?? before.name,
          settings: JSON.stringify(settings),
          updated_at: Math.max(clock.now(), before.updatedAt + 1),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
      const after = storedClient(row)
      if (isPrivileged(after)) caller.requireAdmin()
      await tx.deleteFrom('client_origins').where('client_id', '=', id).execute()
      await writeOrigins(tx, after)
      const fields = Object.keys({ ...given, ...(name !== undefined && { name }) }).join(' ')
      return [after, { action: 'client.changed', detail: { fields } }]
    })
    publishKeys?.(changed.idTokenAlgorithm)
    return changed
  }

  /**
   * Deletes a client. From then on its tokens are refused and its codes and refresh tokens cannot be used, because they name a
   * client that does not exist. Its sign-ins and consents are removed afterwards, in steps.
   * @throws Problem `not-found`, `conflict` for a declared client
   */
  async remove(id: string, caller: ClientCaller): Promise<void> {
    const { database, clock } = this.#parts
    const removed = await this.#change(id, caller, async (tx, client) => {
      await tx.deleteFrom('clients').where('id', '=', id).execute()
      await keepLogouts(tx, client)
      const { name, confidential } = client
      return [client, { action: 'client.deleted', detail: { name, confidential } }]
    })
    await forgetClient(database, removed, clock.now())
  }

  /**
   * Makes a secret. Older ones are valid for `overlap` milliseconds more; of those only the newest stays.
   * @throws Problem `not-found`; `conflict` for a declared or a public client
   */
  async addSecret(
    id: string,
    overlap: number,
    caller: ClientCaller,
  ): Promise<{ listed: ListedSecret; secret: string }> {
    return this.#change(id, caller, async (tx, client) => {
      if (!client.confidential)
        throw new Problem('conflict', { detail: 'A public app has no secret. Create a confidential one.' })
      const added = await addSecret(tx, id, { now: this.#parts.clock.now(), overlap })
      const detail = { secret: added.listed.id, overlapSeconds: overlap / 1000 }
      return [added, { action: 'client.secret_created', detail }]
    })
  }

  /** @throws Problem `not-found`; `conflict` for a declared client */
  async removeSecret(id: string, secretId: string, caller: ClientCaller): Promise<void> {
    await this.#change(id, caller, async (tx) => {
      if (!(await removeSecret(tx, id, secretId)))
        throw new Problem('not-found', { detail: 'There is no such secret.' })
      return [undefined, { action: 'client.secret_removed', detail: { secret: secretId } }]
    })
  }

  /**
   * Changes a client, which is locked against other changes, records the change, and lets all processes read the clients again. Only admins
   * may change a privileged one, or who authenticates as it.
   */
  async #change<T>(
    id: string,
    caller: ClientCaller,
    change: (tx: Tx, client: StoredClient) => Promise<[T, Pick<AuditEntry, 'action' | 'detail'>]>,
  ): Promise<T> {
    const { database, declared, record } = this.#parts
    if (declared.some((client) => client.id === id))
      throw new Problem('conflict', {
        detail: 'This app is declared in the configuration module: change it there.',
      })
    return database.transaction(async (tx) => {
      if (database.engine === 'postgres')
        await tx.selectFrom('clients').select('id').where('id', '=', id).forUpdate().execute()
      const client = await this.#read(tx, id)
      if (isPrivileged(client)) caller.requireAdmin()
      const [result, entry] = await change(tx, client)
      await record(tx, { ...entry, target: `app:${id}`, ...caller.origin })
      await announceClients(database, tx)
      return result
    })
  }

  async #read(db: Queryable, id: string): Promise<StoredClient> {
    const row = isClientId(id)
      ? await db.selectFrom('clients').selectAll().where('id', '=', id).executeTakeFirst()
      : undefined
    if (!row) throw new Problem('not-found', { detail: 'There is no such app.' })
    return storedClient(row)
  }
}

async function writeOrigins(tx: Tx, client: StoredClient): Promise<void> {
  const rows = originsOf(client).map((origin) => ({ origin, client_id: client.id }))
  if (rows.length > 0) await tx.insertInto('client_origins').values(rows).execute()
}

/** Settings that a caller gives; `null` selects the default. */
export type GivenSettings = { [K in keyof ClientSettings]?: ClientSettings[K] | null | undefined }

/**
 * The settings to store for an app of this name.
 * @param before the stored ones, of which those stay that are not given
 * @throws Problem `invalid-body`
 */
function settingsToStore(
  name: string,
  given: GivenSettings,
  confidential: boolean,
  before: ClientSettings = {},
): ClientSettings {
  const changes = Object.entries(given).filter(([, value]) => value !== undefined)
  const all = Object.entries({ ...before, ...Object.fromEntries(changes) })
  const settings: ClientSettings = Object.fromEntries(all.filter(([, value]) => value !== null))
  const [fault] = [
    ...nameFaults(name, 'the app').map((message) => ({ setting: 'name', message })),
    ...settingsFaults(settings, { named: 'the app', confidential }),
  ]
  if (fault !== undefined) throw invalidBody(`/${fault.setting}`, `${fault.message}.`)
  return settings
}

/** Rows that one transaction changes at most, so that other writers do not wait long. */
const batch = 1_000

/**
 * Adds the address of a client that is deleted to its waiting notices: those who signed out before are still signed out there.
 * Notices that have it are left alone, so that the deletion of a client with many sign-ins does not write them all again at once.
 */
export async function keepLogouts(tx: Tx, client: Client): Promise<void> {
  const { id, backchannelLogoutUri: uri, idTokenAlgorithm: algorithm } = client
  if (uri === undefined) return
  await tx
    .updateTable('backchannel_logouts')
    .set({ uri, algorithm })
    .where('client_id', '=', id)
    .where('uri', 'is', null)
    .execute()
}

/**
 * Ends the sign-ins of a deleted client, tells it so (OpenID Connect Back-Channel Logout), and removes the consents of its users.
 * If the process ends meanwhile, the rest stays without effect, because the client does not exist.
 * @param rows rows of one step
 */
export async function forgetClient(
  database: Database,
  client: Client,
  now: number,
  rows = batch,
): Promise<void> {
  const inSteps = async (step: (tx: Tx) => Promise<number>): Promise<void> => {
    for (let done = rows; done === rows;) done = await database.inBackground(step)
  }
  await inSteps((tx) => endFamilies(tx, client, now, rows))
  // Sign-outs that ran at the same time as the deletion added notices without the address.
  await database.inBackground((tx) => keepLogouts(tx, client))
  await inSteps((tx) => deleteConsents(tx, client.id, rows))
}

async function endFamilies(tx: Tx, client: Client, now: number, rows: number): Promise<number> {
  const some = tx
    .selectFrom('token_families')
    .select('id')
    .where('client_id', '=', client.id)
    .where('revoked_at', 'is', null)
    .limit(rows)
  const ended = await tx
    .updateTable('token_families')
    .set({ revoked_at: now })
    .where('id', 'in', some)
    .returning('id')
    .execute()
  const { backchannelLogoutUri: uri, idTokenAlgorithm: algorithm } = client
  if (uri !== undefined)
    await recordLogouts(
      tx,
      ended.map(({ id }) => id),
      now,
      { uri, algorithm },
    )
  return ended.length
}

async function deleteConsents(tx: Tx, clientId: string, rows: number): Promise<number> {
  const some = tx.selectFrom('consents').select('user_id').where('client_id', '=', clientId).limit(rows)
  const deleted = tx.deleteFrom('consents').where('client_id', '=', clientId).where('user_id', 'in', some)
  return Number((await deleted.executeTakeFirst()).numDeletedRows)
}

/** The prefix of every secret, by which secret scanners recognize a leaked one. */
const secretPrefix = 'cs_'
/** Valid secrets of one client at most: a rotation needs the new one and the one before. */
const mostSecrets = 2

/** A secret in a list, without its hash. */
export type ListedSecret = Omit<Row<'client_secrets'>, 'secret_hash' | 'client_id'>

/** The valid secrets of a client, newest first. */
async function secretsOfClient(db: Queryable, clientId: string, now: number): Promise<ListedSecret[]> {
  return db
    .selectFrom('client_secrets')
    .select(['id', 'prefix', 'created_at', 'expires_at'])
    .where('client_id', '=', clientId)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .orderBy('id', 'desc')
    .execute()
}

/** Inserts a new secret, and ends older ones after `overlap` milliseconds. The client is locked. */
export async function addSecret(
  tx: Tx,
  clientId: string,
  { now, overlap }: { now: number; overlap: number },
): Promise<{ listed: ListedSecret; secret: string }> {
  const older = await secretsOfClient(tx, clientId, now)
  const remaining = overlap > 0 ? older.slice(0, mostSecrets - 1) : []
  for (const { id } of older.slice(remaining.length)) await removeSecret(tx, clientId, id)
  for (const { id, expires_at: end } of remaining)
    await tx
      .updateTable('client_secrets')
      .set({ expires_at: Math.min(end ?? Infinity, now + overlap) })
      .where('id', '=', id)
      .execute()
  const secret = newToken(secretPrefix)
  const listed: ListedSecret = {
    id: newId(now),
    prefix: secret.slice(0, secretPrefix.length + 4),
    created_at: now,
    expires_at: null,
  }
  const row = { ...listed, client_id: clientId, secret_hash: hashToken(secret) }
  await tx.insertInto('client_secrets').values(row).execute()
  return { listed, secret }
}

/** False if the client has no such secret. */
async function removeSecret(tx: Tx, clientId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('client_secrets')
    .where('id', '=', id)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return Number(numDeletedRows) > 0
}

export async function deleteEndedSecrets(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('client_secrets').where('expires_at', '<=', now).execute()
}
