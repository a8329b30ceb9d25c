import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { allowedScopes } from '../../accounts/tokens/access-tokens.ts'
import type { InvalidGrant, RefreshTokens } from '../../accounts/tokens/refresh-tokens.ts'
import type { Family } from '../../accounts/tokens/token-families.ts'
import {
  apiFinder,
  apisOf,
  type Client,
  defaultApisOf,
  isIdentityScope,
  requestableApis,
} from '../clients/client.ts'
import { RefusedClient } from '../clients/client-authentication.ts'
import { OAuthError } from '../oauth-error.ts'
import type { DeviceCodes, Poll } from '../device/device-codes.ts'
import type { AuthorizationCodes } from './authorization-codes.ts'

/** The parameters of a call of the token endpoint, each at most once. */
type TokenBody = Readonly<Record<string, string | undefined>>

export interface TokenRequest {
  client: Client
  body: TokenBody
  /** The caller, for the audit log. */
  origin: AuditOrigin
}

/** What a grant gives: the tokens of a sign-in, or of an app without a user. */
export interface Granted {
  /** Undefined for an app without a user. */
  family: Family | undefined
  refreshToken: string | undefined
  /** For the id_token. */
  nonce: string | null
  /** Narrower than the scope of the family; separated by spaces. */
  scope: string | null
  resource: string | null
}

/** A grant type of the token endpoint (RFC 6749, section 4). */
export interface Grant {
  /** Calls are counted by this credential, so that it cannot be guessed with many calls. */
  credential: (body: TokenBody) => string | undefined
  /** What `invalid_grant` tells the app. */
  invalid: string
  exchange: (request: TokenRequest) => Promise<Granted | InvalidGrant>
  /** For whom an exchange would issue tokens, and with which scopes. Does not use up the credential. */
  preview?: (request: TokenRequest) => Promise<Pick<Family, 'userId' | 'scope'> | undefined>
}

export function authorizationCodeGrant(codes: AuthorizationCodes): Grant {
  return {
    credential: ({ code }) => code,
    invalid: 'the code is wrong, was used or has expired',
    async exchange({ client, body, origin }) {
      const { code, code_verifier: verifier, redirect_uri: redirectUri } = body
      if (!code) throw new OAuthError('invalid_request', 'code is missing')
      if (!redirectUri) throw new OAuthError('invalid_request', 'redirect_uri is missing')
      // RFC 7636, section 4.1.
      const isVerifier = verifier !== undefined && /^[A-Za-z0-9\-._~]{43,128}$/.test(verifier)
      if (verifier === undefined ? !client.confidential : !isVerifier)
        throw new OAuthError('invalid_request', 'code_verifier is missing or not of the form of RFC 7636')
      const request = { code, client, redirectUri, verifier, origin }
      const exchanged = await codes.exchange(request, (family) => void narrowed(client, family, body))
      if ('invalidGrant' in exchanged) return exchanged
      return { ...exchanged, ...narrowed(client, exchanged.family, body) }
    },
  }
}

export function refreshTokenGrant(refreshTokens: RefreshTokens): Grant {
  return {
    credential: ({ refresh_token: token }) => token,
    invalid: 'the refresh token is wrong, was used, revoked or has expired',
    async preview({ client, body }) {
      const family = (await refreshTokens.describe(body['refresh_token'] ?? ''))?.family
      if (family?.clientId !== client.id) return undefined
      return { userId: family.userId, scope: narrowed(client, family, body).scope }
    },
    async exchange({ client, body, origin }) {
      const { refresh_token: token } = body
      if (!token) throw new OAuthError('invalid_request', 'refresh_token is missing')
      const accept = (family: Family): void => {
        requireGranted(client, family, body)
        narrowed(client, family, body)
      }
      const rotated = await refreshTokens.rotate(token, client.id, origin, accept)
      if ('invalidGrant' in rotated) return rotated
      return { ...rotated, nonce: null, ...narrowed(client, rotated.family, body) }
    },
  }
}

/**
 * The scope and the APIs of one access token: those of the sign-in that the client may still ask for, or fewer if the request
 * names them (RFC 6749, section 6; RFC 8707, section 2.2).
 * @throws RefusedClient when nothing remains of the APIs of the sign-in, or of what the request names: a token with everything
 * instead would go to an API that must not have it
 */
function narrowed(
  client: Client,
  { scope, resource }: Family,
  body: TokenBody,
): Pick<Granted, 'scope' | 'resource'> {
  // A sign-in at GET /auth/{provider}, which has neither.
  if (scope === null) return { scope, resource }
  const scopes = allowedScopes(scope, client).split(' ')
  const known = requestableApis(client)
  const apis = resource?.split(' ').filter((one) => known.includes(one)) ?? defaultApisOf(client)
  const refuse = (error: 'invalid_scope' | 'invalid_target', what: string): RefusedClient =>
    new RefusedClient(error, client.id, error, `the sign-in does not include this ${what}`)
  const wantedScopes = within(scopes, body['scope'])
  if (wantedScopes.length === 0 && body['scope']) throw refuse('invalid_scope', 'scope')
  const wantedApis = apisWithin(apis, body['resource'])
  const namesApis = resource !== null || Boolean(body['resource'])
  if (wantedApis.length === 0 && namesApis) throw refuse('invalid_target', 'resource')
  return { scope: wantedScopes.join(' '), resource: namesApis ? wantedApis.join(' ') : null }
}

/**
 * A refresh must not ask for a scope that the sign-in did not get (RFC 6749, section 6). One that the app has lost since is only
 * left out, so that an unchanged request still works.
 */
function requireGranted({ id }: Client, { scope }: Family, body: TokenBody): void {
  const granted = new Set(scope?.split(' '))
  const asked = body['scope']?.split(' ').filter((one) => one !== '') ?? []
  const [ungranted] = scope === null ? [] : asked.filter((one) => !granted.has(one))
  if (ungranted !== undefined)
    throw new RefusedClient('invalid_scope', id, 'invalid_scope', 'the sign-in did not get this scope')
}

/** Those of `granted` that a request names, or all. An unknown value gives no right, so it is left out. */
function within(granted: readonly string[], wanted: string | undefined): readonly string[] {
  if (!wanted) return granted
  const names = wanted.split(' ')
  return granted.filter((one) => names.includes(one))
}

/** As `within`; a request may spell an API as URL parsers print it. */
function apisWithin(granted: readonly string[], wanted: string | undefined): readonly string[] {
  if (!wanted) return granted
  const find = apiFinder(granted)
  return [...new Set(wanted.split(' ').flatMap((one) => find(one) ?? []))]
}

/** Tokens for an app without a user (RFC 6749, section 4.4): no refresh token and no id_token. `sub` is the app. */
export function clientCredentialsGrant(): Grant {
  const invalid = 'this app may not get tokens without a user'
  return {
    credential: () => undefined,
    invalid,
    async exchange({ client, body }) {
      if (!client.confidential || !client.clientCredentials)
        throw new RefusedClient('grant-not-allowed', client.id, 'unauthorized_client', invalid)
      const resource = resourceOf(client, body)
      const scope = scopeOf(client, body)
      const namesApi = resource !== null || client.audience !== undefined
      if (scope === null && !namesApi && !client.firstParty) throw noScope(client)
      return { family: undefined, refreshToken: undefined, nonce: null, scope, resource }
    },
  }
}

/** The requested scopes, or all scopes of the app that are not about a user. An unknown one is rejected, unlike for users. */
function scopeOf(client: Client, { scope }: TokenBody): string | null {
  const allowed = client.scopes.filter((one) => !isIdentityScope(one))
  const wanted = [...new Set((scope ?? '').split(' ').filter((one) => one !== ''))]
  if (!wanted.every((one) => allowed.includes(one))) throw noScope(client)
  const granted = wanted.length > 0 ? wanted : allowed
  return granted.length === 0 ? null : granted.join(' ')
}

/** @throws RefusedClient for an API that the app is not registered for */
function resourceOf(client: Client, { resource }: TokenBody): string | null {
  if (resource === undefined) return null
  const apis = resource.split(' ').map(apiFinder(apisOf(client)))
  if (apis.includes(undefined))
    throw new RefusedClient(
      'audience-not-allowed',
      client.id,
      'invalid_target',
      'this app may not ask for this resource',
    )
  return [...new Set(apis)].join(' ')
}

function noScope({ id }: Client): RefusedClient {
  return new RefusedClient(
    'scope-not-allowed',
    id,
    'invalid_scope',
    'this app may not ask for this scope without a user',
  )
}

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** The errors of RFC 8628, section 3.5. */
const deviceErrors: Partial<Record<Poll['state'], readonly [error: string, description: string]>> = {
  pending: ['authorization_pending', 'the person has not decided yet'],
  'too-fast': ['slow_down', 'wait five seconds longer between two calls'],
  expired: ['expired_token', 'the code has expired: start again'],
  denied: ['access_denied', 'the person did not allow this'],
}

export function deviceCodeGrant(deviceCodes: DeviceCodes): Grant {
  return {
    credential: ({ device_code: code }) => code,
    invalid: 'the device code is wrong or was used',
    async exchange({ client, body }) {
      const { device_code: code } = body
      if (!client.deviceGrant)
        throw new OAuthError('unauthorized_client', 'this app may not use the device grant')
      if (!code) throw new OAuthError('invalid_request', 'device_code is missing')
      const poll = await deviceCodes.poll(code, client, (family) => void narrowed(client, family, body))
      if (poll.state === 'unknown') return { invalidGrant: true, userId: poll.userId }
      if (poll.state === 'approved') {
        const { family, refreshToken } = poll
        return { family, refreshToken, nonce: null, ...narrowed(client, family, body) }
      }
      throw new OAuthError(...deviceErrors[poll.state]!)
    },
  }
}
