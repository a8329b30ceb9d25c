import type { ServerMetadata } from 'openid-client'
import { causeInWords } from '../../network/cause-in-words.ts'
import { printable } from '../../telemetry/printable.ts'
import { isObject } from './profile.ts'
import { withoutFlowParameters } from '../providers/authorization-parameters.ts'
import type { OpenIdProvider, ResolvedProvider } from '../providers/resolved-provider.ts'
import { asCustomFetch, type ProviderFetch } from './provider-fetch.ts'

interface DiscoveryOptions {
  fetch: ProviderFetch
  /** Seconds for one request. */
  timeout: number
  /** Whether http addresses are allowed. */
  insecure: boolean
}

/** The discovery document cannot be read or used. */
export class DiscoveryFailed extends Error {
  override readonly name = 'DiscoveryFailed'
  /** What is wrong, for the log and for `postern doctor`. */
  readonly reason: string

  constructor(reason: string, cause: unknown) {
    super(`the provider cannot be discovered: ${reason}`, { cause })
    this.reason = reason
  }
}

/** The algorithms of an id_token if the provider names none: all asymmetric ones, of which its keys allow some. */
const asymmetric = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

/**
 * Reads the discovery document (OpenID Connect Discovery 1.0, section 4). Configured addresses replace those of the document.
 * @throws DiscoveryFailed when it cannot be read or names another issuer.
 */
export async function discover(provider: OpenIdProvider, options: DiscoveryOptions): Promise<ServerMetadata> {
  let issuer = ''
  try {
    await provider.loaded?.()
    // Read once: the getter of the built-in provider works only while the service listens.
    issuer = provider.issuer
    return await readDocument(provider, issuer, options)
  } catch (error) {
    throw new DiscoveryFailed(reasonOf(error, issuer), error)
  }
}

async function readDocument(
  provider: OpenIdProvider,
  issuer: string,
  { fetch, timeout, insecure }: DiscoveryOptions,
): Promise<ServerMetadata> {
  const client = await import('openid-client')
  const { authUrl, tokenUrl, profileUrl, jwksUrl } = provider
  const document = acceptingOtherIssuers(fetch, provider, issuer)
  const discovered = await client.discovery(new URL(issuer), provider.clientId, {}, client.None(), {
    [client.customFetch]: asCustomFetch(document.fetch),
    timeout,
    ...(insecure && { execute: [client.allowInsecureRequests] }),
  })
  // A copy without the library's methods: structured cloning fails on them.
  const metadata = JSON.parse(JSON.stringify(discovered.serverMetadata())) as ServerMetadata
  return {
    id_token_signing_alg_values_supported: asymmetric,
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
    id_token_signing_alg_values_supported: asymmetric,
    ...definedOf({ userinfo_endpoint: profileUrl }),
  }
}

/** Characters of an error of the network or of a library. */
const longestReason = 300

function reasonOf(error: unknown, issuer: string): string {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { cause } = error as Error
  if (cause instanceof Response)
    return cause.status === 200
      ? `${url} is not JSON: check its issuer`
      : `${url} answered ${cause.status}: check its issuer`
  // openid-client compares the issuers and gives the document as the cause.
  if (isObject(cause) && isObject(cause['body']))
    return `${url} names the issuer ${quoted(cause['body']['issuer'])}, but ${quoted(issuer)} is configured: they must match exactly, including the trailing slash`
  return `${url} cannot be read: ${causeInWords(cause ?? error).slice(0, longestReason)}`
}

function quoted(value: unknown): string {
  return printable((JSON.stringify(value) ?? 'undefined').slice(0, 200))
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
