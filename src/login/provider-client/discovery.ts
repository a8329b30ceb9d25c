import type { ServerMetadata } from 'openid-client'
import { isObject } from './profile.ts'
import { withoutFlowParameters } from '../providers/authorization-parameters.ts'
import type { OpenIdProvider, ResolvedProvider } from '../providers/resolved-provider.ts'
import { asCustomFetch, type ProviderFetch } from './provider-fetch.ts'

export interface DiscoveryOptions {
  fetch: ProviderFetch
  /** Seconds for one request. */
  timeout: number
  /** Whether http addresses are allowed. */
  insecure: boolean
}

/** The discovery document cannot be read or used; the cause says why. */
export class DiscoveryFailed extends Error {
  override readonly name = 'DiscoveryFailed'
  constructor(cause: unknown) {
    super('the provider cannot be discovered', { cause })
  }
}

/**
 * Reads the discovery document (OpenID Connect Discovery 1.0, section 4). Configured addresses replace those of the document.
 * @throws when it cannot be read or names another issuer.
 */
export async function discover(
  provider: OpenIdProvider,
  { fetch, timeout, insecure }: DiscoveryOptions,
): Promise<ServerMetadata> {
  const client = await import('openid-client')
  await provider.loaded?.()
  // Read once: the getter of the built-in provider works only while the service listens.
  const { issuer, authUrl, tokenUrl, profileUrl, jwksUrl } = provider
  const document = acceptingOtherIssuers(fetch, provider, issuer)
  const discovered = await client.discovery(new URL(issuer), provider.clientId, {}, client.None(), {
    [client.customFetch]: asCustomFetch(document.fetch),
    timeout,
    ...(insecure && { execute: [client.allowInsecureRequests] }),
  })
  // A copy without the library's methods: structured cloning fails on them.
  const metadata = JSON.parse(JSON.stringify(discovered.serverMetadata())) as ServerMetadata
  return {
    ...metadata,
    issuer: document.issuer() ?? metadata.issuer,
    ...(metadata.authorization_endpoint !== undefined && {
      authorization_endpoint: withoutFlowParameters(metadata.authorization_endpoint),
    }),
    ...definedOf({
      authorization_endpoint: authUrl,
      token_endpoint: tokenUrl,
      userinfo_endpoint: profileUrl,
      jwks_uri: jwksUrl,
    }),
  }
}

/** The metadata of a provider that needs no discovery: plain OAuth 2.0, or OpenID Connect with all addresses configured. */
export function configuredMetadata(provider: ResolvedProvider): ServerMetadata | undefined {
  const { authUrl, tokenUrl } = provider
  if (provider.kind === 'oauth') {
    const issuer = provider.expectedResponseIssuer ?? new URL(provider.authUrl).origin
    return { issuer, authorization_endpoint: provider.authUrl, token_endpoint: provider.tokenUrl }
  }
  const { issuer, jwksUrl, profileUrl } = provider
  if (authUrl === undefined || tokenUrl === undefined || jwksUrl === undefined) return undefined
  return {
    issuer,
    authorization_endpoint: authUrl,
    token_endpoint: tokenUrl,
    jwks_uri: jwksUrl,
    ...definedOf({ userinfo_endpoint: profileUrl }),
  }
}

/**
 * openid-client refuses a document with another issuer than the requested one. Where the preset accepts the other issuer,
 * this replaces it in the document and reports it by `issuer()`.
 */
function acceptingOtherIssuers(
  fetch: ProviderFetch,
  { quirks }: OpenIdProvider,
  requested: string,
): { fetch: ProviderFetch; issuer: () => string | undefined } {
  const { acceptsDiscoveredIssuer } = quirks
  let named: string | undefined
  if (!acceptsDiscoveredIssuer) return { fetch, issuer: () => named }
  return {
    issuer: () => named,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (response.status !== 200) return response
      const text = await response.text()
      const { headers } = response
      const document: unknown = JSON.parse(text)
      const found = isObject(document) ? document['issuer'] : undefined
      if (typeof found !== 'string' || found === requested || !acceptsDiscoveredIssuer(found, requested))
        return new Response(text, { headers })
      named = found
      return Response.json({ ...(document as object), issuer: requested })
    },
  }
}

function definedOf(fields: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
