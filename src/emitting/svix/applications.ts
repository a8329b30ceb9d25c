import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import type { EventOwner, OwnerChange, OwnerRecord } from '../subscribers/owner-directory.ts'
import { notFound, type SvixCall, type SvixOperations, invalidField, SvixError, unsupported } from './call.ts'
import { pageOf, readPage, type Walk } from './pages.ts'
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
export const applicationOperations: SvixOperations = {
  'v1.application.create': create,
  async 'v1.application.get'({ owner, parts }) {
    const found = await parts.owners.directory.get(owner)
    if (!found) throw notFound()
    return view(found)
  },
  async 'v1.application.upsert'(call) {
    const { owner, body, origin } = call
    const { directory } = call.parts.owners
    const change = readApplication(body)
    const { uid = null, rateLimit = null, metadata = null } = change
    if (owner !== '')
      return view(await directory.change(owner, { ...change, uid, rateLimit, metadata }, origin))
    call.status = 201
    return view(await directory.create(change, origin))
  },
  'v1.application.patch': async ({ owner, body, origin, parts }) =>
    view(await parts.owners.directory.change(owner, readApplication(body), origin)),
  'v1.application.delete': ({ owner, origin, parts }) => parts.owners.remove(owner, origin),
  async 'v1.application.list'({ query, parts }) {
    const asked = readPage(query, 'ascending')
    const order = asked.ascending ? 'ascending' : 'descending'
    const walk: Walk<OwnerRecord, Position> = {
      find: readPosition,
      idOf: writePosition,
      read: async (behind, count) => ({ rows: await parts.owners.directory.list({ count, order, behind }) }),
    }
    return pageOf(asked, walk, (rows) => rows.map(view))
  },
}

async function create(call: SvixCall): Promise<object> {
  const { directory } = call.parts.owners
  const change = readApplication(call.body)
  const find = async () =>
    call.query['get_if_exists'] === true && change.uid ? directory.find(change.uid) : undefined
  const found = await find()
  if (found) return view(found)
  try {
    const record = await directory.create(change, call.origin)
    call.status = 201
    return view(record)
  } catch (error) {
    // A concurrent request may have created it.
    const other = await find()
    if (!other) throw error
    return view(other)
  }
}

/**
 * Creates an application from the uid in the request's path and the description in its body.
 * @throws SvixError 404 without a body, 422 without a uid in the body, or with another one
 */
export async function createNamed(
  uid: string,
  body: ApplicationIn | undefined,
  { owners }: Parts,
  origin: AuditOrigin,
): Promise<EventOwner> {
  if (!body) throw new SvixError(404, 'not_found', 'Application not found')
  const field = ['application', 'uid']
  if (!body.uid) throw invalidField(field, 'The application must have a uid.', 'application_uid_missing')
  if (body.uid !== uid)
    throw invalidField(field, 'The uid differs from the one in the path.', 'application_uid_mismatch')
  try {
    return await owners.directory.create(readApplication(body), origin)
  } catch (error) {
    // A concurrent request may have created it.
    const other = await owners.directory.find(uid)
    if (!other) throw error
    return other
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

type Position = Pick<OwnerRecord, 'owner' | 'createdAt'>

/** The id and creation time, so that paging continues after an application that has been deleted since. */
function writePosition({ owner, createdAt }: Position): string {
  return `${applicationId(owner)}.${createdAt.toString(36)}`
}

function readPosition(iterator: string): Position | undefined {
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
  const found = new BoundedCache<string, { owner: EventOwner; at: number }>(10_000)
  const find = async (idOrUid: string): Promise<EventOwner | undefined> => {
    const at = clock.now()
    const owner = await owners.directory.find(idOrUid)
    if (owner) found.set(idOrUid, { owner, at })
    return owner
  }
  /** The same, without a statement if the owner was found within the last second. */
  const recent = (idOrUid: string): EventOwner | Promise<EventOwner | undefined> => {
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
export const authenticationOperations: SvixOperations = {
  'v1.authentication.app-portal-access': openPortal,
  'v1.authentication.dashboard-access': openPortal,
  async 'v1.authentication.expire-all'({ owner, body, origin, parts }) {
    const { expiry, sessionIds } = body
    if (sessionIds?.length)
      throw unsupported('Tokens cannot be expired by session. Omit `sessionIds` to expire all tokens.')
    await parts.portal.revoke(owner, origin, (expiry ?? 0) * 1000)
  },
  async 'v1.authentication.logout'({ isPortal, request, origin, parts }) {
    const { owner, sessionId } = request.principal!
    if (!isPortal)
      throw new SvixError(403, 'insufficient access', 'Only a token from app-portal-access can log out.')
    await parts.portal.end({ id: sessionId!, owner: owner! }, origin)
  },
  async 'v1.authentication.whoami'({ isPortal, request }) {
    if (!isPortal) return { permissionSource: 'GlobalAuthToken' }
    const { owner, sessionId } = request.principal!
    return { permissionSource: 'SvixJwt', appId: applicationId(owner!), sessionId }
  },
}

/** Creates a token for the API and a link to the portal. */
async function openPortal(call: SvixCall): Promise<object> {
  const { params, body, origin, parts } = call
  const { portal, baseUrl } = parts
  const { application, expiry, readOnly, capabilities: asked, featureFlags = [] } = body
  // A token with more rights than requested would be a security hole.
  if (readOnly || (asked && capabilities.some((one) => !asked.includes(one))))
    throw unsupported('A token always has all capabilities. Omit `capabilities` and `readOnly`.')
  const owner = call.owner || (await createNamed(params['app_id']!, application, parts, origin)).owner
  const seconds = expiry ?? tokenLasts
  const short = Math.min(seconds, longestLink) * 1000
  const lasts = { link: short, session: short, token: seconds * 1000, featureFlags }
  const link = await portal.createLink({ owner }, lasts, origin)
  return { url: `${baseUrl()}/portal#${link.token}`, token: link.apiToken }
}
