import type { EmittingRouteParts } from '../routes/area.ts'
import { createNamed } from './applications.ts'
import type { SvixCall, SvixOperations } from './call.ts'
import { SvixError } from './errors.ts'
import { applicationId } from './ids.ts'

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
      const { expiry, sessionIds } = body as { expiry?: number | null; sessionIds?: string[] }
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

function unsupported(detail: string): SvixError {
  return new SvixError(400, 'not_implemented', detail)
}

/** Creates a token for the API and a link to the portal. */
async function openPortal(parts: EmittingRouteParts, call: SvixCall): Promise<object> {
  const { portal, baseUrl } = parts
  const { params, body, origin } = call
  const {
    application,
    expiry,
    readOnly,
    capabilities: asked,
    featureFlags = [],
  } = body as {
    application?: { name: string; uid?: string | null }
    expiry?: number | null
    readOnly?: boolean | null
    capabilities?: string[] | null
    featureFlags?: string[]
  }
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
