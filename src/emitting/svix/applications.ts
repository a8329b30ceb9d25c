import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { Problem } from '../../errors.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import type { OwnerChange, OwnerRecord } from '../subscribers/owner-directory.ts'
import { created, listOf, notFound, readPage, type SvixCall, type SvixOperations } from './call.ts'
import { invalidField, SvixError } from './errors.ts'
import { applicationId, readApplicationId } from './ids.ts'

type Parts = Pick<EmittingRouteParts, 'owners' | 'clock'>

/** The body that creates an application, or with fewer fields changes one. */
interface ApplicationIn {
  name?: string
  uid?: string | null
  rateLimit?: number | null
  throttleRate?: number | null
  metadata?: Record<string, string>
}

/** Characters of a name. Svix has no limit. */
const longestName = 1_000

/** v1.application.*: create, read, change and remove customers. */
export function applicationOperations(parts: Parts): SvixOperations {
  const { directory } = parts.owners
  const remove = async ({ owner, origin }: SvixCall): Promise<undefined> => {
    await parts.owners.remove(owner, origin)
  }
  return {
    'v1.application.create': (call) => create(parts, call),
    'v1.application.get': async ({ owner }) => view((await directory.get(owner)) ?? missing()),
    'v1.application.upsert': async ({ owner, body, origin }) => {
      const change = readApplication(body as ApplicationIn)
      if (owner === '') return created(view(await directory.create(change, origin)))
      const { uid = null, rateLimit = null, metadata = null } = change
      return view(await directory.change(owner, { ...change, uid, rateLimit, metadata }, origin))
    },
    'v1.application.patch': async ({ owner, body, origin }) =>
      view(await directory.change(owner, readApplication(body as ApplicationIn), origin)),
    'v1.application.delete': remove,
    'v1.application.list': async (call) => {
      const page = readPage(call, 'ascending')
      const behind = page.behind === undefined ? undefined : readPosition(page.behind)
      const rows = await directory.list({ count: page.limit + 1, order: page.order, behind })
      return listOf(rows, page, writePosition, view)
    },
  }
}

function missing(): never {
  throw notFound()
}

async function create({ owners }: Parts, { query, body, origin }: SvixCall): Promise<unknown> {
  const change = readApplication(body as ApplicationIn)
  const existing = async (): Promise<OwnerRecord | undefined> =>
    query['get_if_exists'] && change.uid ? owners.directory.find(change.uid) : undefined
  const found = await existing()
  if (found) return view(found)
  try {
    return created(view(await owners.directory.create(change, origin)))
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'conflict')) throw error
    // Another request may have created it meanwhile.
    const other = await existing()
    if (other) return view(other)
    throw new SvixError(409, 'conflict', 'An application with that id or uid already exists')
  }
}

/**
 * Creates the application that a call names in its path and describes in its body.
 * @returns its owner
 * @throws SvixError 404 without a body, 422 if the body has another uid
 */
export async function createNamed(
  uid: string,
  body: ApplicationIn | undefined,
  { owners }: Parts,
  origin: AuditOrigin,
): Promise<string> {
  if (!body) throw new SvixError(404, 'not_found', 'Application not found')
  const field = ['application', 'uid']
  if (!body.uid) throw invalidField(field, 'The application needs a uid.', 'application_uid_missing')
  if (body.uid !== uid) throw invalidField(field, 'The path names another uid.', 'application_uid_mismatch')
  try {
    return (await owners.directory.create(readApplication(body), origin)).owner
  } catch (error) {
    // Another request may have created it meanwhile.
    const other = await owners.directory.find(uid)
    if (!other) throw error
    return other.owner
  }
}

/** @throws SvixError 422 */
function readApplication(body: ApplicationIn): OwnerChange {
  const { name, uid, metadata } = body
  // oxlint-disable-next-line no-control-regex
  if (name !== undefined && /[\0-\x08]/.test(name))
    throw invalidField(['name'], 'Control characters 0x00-0x08 are not allowed.')
  if (name !== undefined && name.length > longestName)
    throw invalidField(['name'], `At most ${longestName} characters.`)
  if (uid?.startsWith('app_')) throw invalidField(['uid', '__all__'], 'A uid must not begin like an id.')
  const rateLimit = body.throttleRate === undefined ? body.rateLimit : body.throttleRate
  return { name, uid, metadata, rateLimit }
}

function view({ owner, name, uid, metadata, rateLimit, createdAt, updatedAt }: OwnerRecord): object {
  return {
    ...(uid !== null && { uid }),
    name: name ?? uid ?? owner,
    ...(rateLimit !== null && { rateLimit }),
    throttleRate: rateLimit,
    id: applicationId(owner),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
    metadata,
  }
}

/** The id, with the time of creation: a page goes on behind an application that was deleted meanwhile. */
function writePosition({ owner, createdAt }: OwnerRecord): string {
  return `${applicationId(owner)}.${createdAt.toString(36)}`
}

/** @throws SvixError 422 */
function readPosition(iterator: string): { owner: string; createdAt: number } {
  const [id = '', time = ''] = iterator.split('.')
  const owner = readApplicationId(id)
  const createdAt = /^[\da-z]{1,10}$/.test(time) ? Number.parseInt(time, 36) : undefined
  if (owner !== undefined && createdAt !== undefined) return { owner, createdAt }
  const msg = 'This is no iterator of applications.'
  throw new SvixError(422, 'validation', [
    { loc: ['query', 'iterator', '__all__'], msg, type: 'value_error' },
  ])
}

/** Milliseconds for which a message may go to an application that another process has removed. */
const recentFor = 1_000

/** The owners that applications' ids and uids name. */
export class ApplicationOwners {
  readonly #parts: Parts
  readonly #recent = new BoundedCache<string, { owner: string; until: number }>(10_000)

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async find(idOrUid: string): Promise<string | undefined> {
    return (await this.#parts.owners.directory.find(idOrUid))?.owner
  }

  /** As `find`, without a statement for those that were found within the last second. */
  findRecent(idOrUid: string): string | undefined | Promise<string | undefined> {
    const now = this.#parts.clock.now()
    const recent = this.#recent.get(idOrUid)
    if (recent && now < recent.until && now >= recent.until - recentFor) return recent.owner
    return this.#findAndRemember(idOrUid, now)
  }

  async #findAndRemember(idOrUid: string, now: number): Promise<string | undefined> {
    const owner = await this.find(idOrUid)
    if (owner !== undefined) this.#recent.set(idOrUid, { owner, until: now + recentFor })
    return owner
  }

  /** Call it after a change of an application. */
  forget(): void {
    this.#recent.clear()
  }
}
