import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { Problem } from '../../errors.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import type { OwnerChange, OwnerRecord } from '../subscribers/owner-directory.ts'
import {
  created,
  notFound,
  type SvixCall,
  type SvixOperations,
  invalidField,
  SvixError,
  unsupported,
} from './call.ts'
import { listOf, placeOf, readPage } from './pages.ts'
import { applicationId, readApplicationId } from './ids.ts'

type Parts = Pick<EmittingRouteParts, 'owners' | 'clock'>

/** The body that creates or changes an application. A change can omit fields. */
interface ApplicationIn {
  name?: string
  uid?: string | null
  rateLimit?: number | null
  throttleRate?: number | null
  metadata?: Record<string, string> | null
}

/** Characters of a name. Svix has no limit. */
const longestName = 1_000

/** v1.application.*: create, read, change and remove customers. */
export function applicationOperations(parts: Parts): SvixOperations {
  const { directory } = parts.owners
  return {
    'v1.application.create': (call) => create(parts, call),
    'v1.application.get': async ({ owner }) => view((await directory.get(owner)) ?? missing()),
    'v1.application.upsert': async ({ owner, body, origin }) => {
      const change = readApplication(body)
      if (owner === '') return created(view(await directory.create(change, origin)))
      const { uid = null, rateLimit = null, metadata = null } = change
      return view(await directory.change(owner, { ...change, uid, rateLimit, metadata }, origin))
    },
    'v1.application.patch': async ({ owner, body, origin }) =>
      view(await directory.change(owner, readApplication(body), origin)),
    'v1.application.delete': ({ owner, origin }) => parts.owners.remove(owner, origin),
    'v1.application.list': async (call) => {
      const page = readPage(call.query, 'ascending')
      const behind = await placeOf(page, readPosition)
      const rows = await directory.list({
        count: page.limit + 1,
        order: page.ascending ? 'ascending' : 'descending',
        behind,
      })
      return listOf(rows, page, writePosition, view)
    },
  }
}

function missing(): never {
  throw notFound()
}

async function create({ owners }: Parts, { query, body, origin }: SvixCall): Promise<unknown> {
  const change = readApplication(body)
  const isGet = query['get_if_exists'] === true
  const found = isGet && change.uid ? await owners.directory.find(change.uid) : undefined
  if (found) return view(found)
  try {
    return created(view(await owners.directory.create(change, origin)))
  } catch (error) {
    const isTaken = error instanceof Problem && error.code === 'conflict'
    const existing = isGet && isTaken && change.uid ? await owners.directory.find(change.uid) : undefined
    if (existing) return view(existing)
    throw error
  }
}

/**
 * Creates an application from the uid in the request's path and the description in its body.
 * @returns its owner
 * @throws SvixError 404 without a body, 422 without a uid in the body, or with another one
 */
export async function createNamed(
  uid: string,
  body: ApplicationIn | undefined,
  { owners }: Parts,
  origin: AuditOrigin,
): Promise<string> {
  if (!body) throw new SvixError(404, 'not_found', 'Application not found')
  const field = ['application', 'uid']
  if (!body.uid) throw invalidField(field, 'The application must have a uid.', 'application_uid_missing')
  if (body.uid !== uid)
    throw invalidField(field, 'The uid differs from the one in the path.', 'application_uid_mismatch')
  try {
    return (await owners.directory.create(readApplication(body), origin)).owner
  } catch (error) {
    // A concurrent request may have created it.
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
    throw invalidField(['name'], `The name must have at most ${longestName} characters.`)
  if (uid?.startsWith('app_')) throw invalidField(['uid', '__all__'], 'A uid must not begin with `app_`.')
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

/** The id and creation time, so that paging continues after an application that has been deleted since. */
function writePosition({ owner, createdAt }: OwnerRecord): string {
  return `${applicationId(owner)}.${createdAt.toString(36)}`
}

function readPosition(iterator: string): { owner: string; createdAt: number } | undefined {
  const [id = '', time = ''] = iterator.split('.')
  const owner = readApplicationId(id)
  const createdAt = /^[\da-z]{1,10}$/.test(time) ? Number.parseInt(time, 36) : undefined
  if (owner !== undefined && isStorableText(owner) && createdAt !== undefined) return { owner, createdAt }
  return undefined
}

/** Milliseconds for which messages may still be sent to an application that another process removed. */
const recentFor = 1_000

export type OwnerLookup = ReturnType<typeof ownerLookup>

/** Returns a function that finds an owner by its application's id or uid. */
export function ownerLookup({ owners, clock }: Parts) {
  const found = new BoundedCache<string, { owner: string; at: number }>(10_000)
  const find = async (idOrUid: string): Promise<string | undefined> => {
    const at = clock.now()
    const owner = (await owners.directory.find(idOrUid))?.owner
    if (owner !== undefined) found.set(idOrUid, { owner, at })
    return owner
  }
  /** The same, without a statement if the owner was found within the last second. */
  const recent = (idOrUid: string): string | Promise<string | undefined> => {
    const known = found.get(idOrUid)
    return known && Math.abs(clock.now() - known.at) < recentFor ? known.owner : find(idOrUid)
  }
  /** Called after an application changes. */
  const forget = (): void => found.clear()
  return Object.assign(find, { recent, forget })
}

/** Seconds for which a token is valid by default. */
const tokenLasts = 7 * 86_400
/** The most seconds for which a link to the portal can be opened, and for which its session lasts. */
const longestLink = 86_400

/** Capabilities of a token from app-portal-access. Each token has all of them. */
const capabilities = [
  'ViewBase',
  'ViewEndpointSecret',
  'ManageEndpointSecret',
  'ManageTransformations',
  'CreateAttempts',
  'ManageEndpoint',
]

/** v1.authentication.*: tokens of applications. */
export function authenticationOperations(parts: EmittingRouteParts): SvixOperations {
  const { portal } = parts
  return {
    'v1.authentication.app-portal-access': (call) => openPortal(parts, call),
    'v1.authentication.dashboard-access': (call) => openPortal(parts, call),
    'v1.authentication.expire-all': async ({ owner, body, origin }) => {
      const { expiry, sessionIds } = body
      if (sessionIds?.length)
        throw unsupported('Tokens cannot be expired by session. Omit `sessionIds` to expire all tokens.')
      await portal.revoke(owner, origin, (expiry ?? 0) * 1000)
    },
    'v1.authentication.logout': async ({ isPortal, request, origin }) => {
      const { owner, sessionId } = request.principal!
      if (!isPortal)
        throw new SvixError(403, 'insufficient access', 'Only a token from app-portal-access can log out.')
      await portal.end({ id: sessionId!, owner: owner! }, origin)
    },
    'v1.authentication.whoami': async ({ isPortal, request }) => {
      if (!isPortal) return { permissionSource: 'GlobalAuthToken' }
      const { owner, sessionId } = request.principal!
      return { permissionSource: 'SvixJwt', appId: applicationId(owner!), sessionId }
    },
  }
}

/** Creates a token for the API and a link to the portal. */
async function openPortal(parts: EmittingRouteParts, call: SvixCall): Promise<object> {
  const { portal, baseUrl } = parts
  const { params, body, origin } = call
  const { application, expiry, readOnly, capabilities: asked, featureFlags = [] } = body
  // A token with more rights than requested would be a security hole.
  if (readOnly || (asked && capabilities.some((one) => !asked.includes(one))))
    throw unsupported('A token always has all capabilities. Omit `capabilities` and `readOnly`.')
  const owner = call.owner || (await createNamed(params['app_id']!, application, parts, origin))
  const seconds = expiry ?? tokenLasts
  const short = Math.min(seconds, longestLink) * 1000
  const lasts = { link: short, session: short, token: seconds * 1000, featureFlags }
  const link = await portal.createLink({ owner }, lasts, origin)
  return { url: `${baseUrl()}/portal#${link.token}`, token: link.apiToken }
}
