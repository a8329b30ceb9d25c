import { Type, type Static } from 'typebox'
import type { JWK } from 'jose'
import { isScope } from '../../http/access/scopes.ts'
import { OAuthError } from '../oauth-error.ts'
import { identityScopes, signingAlgorithms } from './client.ts'
import { authenticationMethods } from './client-authentication.ts'
import { nameFaults, settingsFaults, uriFaults } from './client-faults.ts'
import type { NewClient } from './client-management.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

const Text = Type.Optional(Type.String())
const Texts = Type.Optional(Type.Array(Type.String()))

/** The metadata that are read (RFC 7591, section 2). Others are ignored, as the section asks. */
export const RegistrationBody = Type.Object({
  client_name: Text,
  redirect_uris: Texts,
  post_logout_redirect_uris: Texts,
  token_endpoint_auth_method: Text,
  grant_types: Texts,
  response_types: Texts,
  scope: Text,
  jwks: Type.Optional(Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) })),
  id_token_signed_response_alg: Text,
  jwks_uri: optionalText('Not supported: send `jwks`'),
  sector_identifier_uri: optionalText('Not supported'),
  request_uris: Type.Optional(Type.Array(Type.String(), { description: 'Not supported: use /oauth2/par' })),
  software_statement: optionalText('Not supported'),
})

const unsupported = ['jwks_uri', 'sector_identifier_uri', 'request_uris', 'software_statement'] as const
const grantTypes = ['authorization_code', 'refresh_token']

/**
 * What an app that registers itself gets: never first-party, and no scope of this API, no audience and no token without a user.
 * Addresses in the request are stored or refused, and never called.
 * @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri` (RFC 7591, section 3.2.2)
 */
export function readRegistration(body: Static<typeof RegistrationBody>): NewClient {
  const refused = unsupported.find((name) => body[name] !== undefined)
  if (refused !== undefined) throw invalid(`${refused} is not supported`)
  const { client_name: name = 'Unnamed app', redirect_uris: redirectUris = [] } = body
  const [wrongName] = nameFaults(name, 'the app')
  if (wrongName !== undefined) throw invalid(wrongName)
  const fault = redirectUris.map(redirectFault).find((one) => one !== undefined)
  if (redirectUris.length === 0 || fault !== undefined)
    throw new OAuthError('invalid_redirect_uri', fault ?? 'redirect_uris is missing')
  if (!(body.grant_types ?? grantTypes).every((one) => grantTypes.includes(one)))
    throw invalid(`grant_types may have ${grantTypes.join(' and ')}`)
  if (!(body.response_types ?? ['code']).every((one) => one === 'code'))
    throw invalid('response_types may have code')
  const method = methodOf(body)
  const settings = {
    redirectUris,
    postLogoutRedirectUris: body.post_logout_redirect_uris,
    scopes: scopesOf(body.scope),
    idTokenAlgorithm: algorithmOf(body.id_token_signed_response_alg),
    jwks: method === 'private_key_jwt' ? (body.jwks as { keys: JWK[] }) : undefined,
    firstParty: false,
  }
  const confidential = method !== 'none'
  const [wrong] = settingsFaults(settings, { named: 'the app', confidential })
  if (wrong !== undefined) throw invalid(wrong.message)
  return { name, confidential, settings, origin: 'registration' }
}

/** The method that the app is answered with. */
export function methodOf({
  token_endpoint_auth_method: method = 'client_secret_basic',
  jwks,
}: Static<typeof RegistrationBody>): (typeof authenticationMethods)[number] {
  const known = authenticationMethods.find((one) => one === method)
  if (known === undefined)
    throw invalid(`token_endpoint_auth_method must be one of ${authenticationMethods.join(', ')}`)
  if ((known === 'private_key_jwt') !== (jwks !== undefined))
    throw invalid('jwks belongs to the method private_key_jwt')
  return known
}

/**
 * Stricter than a declaration: an app that nobody checked gets no code over plain http, except on the user's own machine, and none at the
 * scheme of another program. Schemes of apps are names of domains, reversed, and have a dot (RFC 8252, section 8.4).
 */
function redirectFault(uri: string): string | undefined {
  const named = `the redirect URI ${JSON.stringify(uri.slice(0, 100))}`
  const [fault] = uriFaults(uri, named)
  if (fault !== undefined) return fault
  const { protocol, hostname } = new URL(uri)
  if (/^[^/?]*\/\/[^/?]*@/.test(uri)) return `${named} must not have a user or a password`
  if (protocol === 'https:') return undefined
  if (protocol === 'http:')
    return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname) ? undefined : `${named} must be https`
  return protocol.includes('.') ? undefined : `${named} must have a scheme such as com.example.app:`
}

/** Scopes that are not for every app are left out; the answer has those that it got. */
function scopesOf(scope: string | undefined): string[] {
  const wanted = scope === undefined ? [...identityScopes] : scope.split(' ')
  const granted = identityScopes.filter((one) => wanted.includes(one) && !isScope(one))
  if (granted.length === 0) throw invalid(`scope may have ${identityScopes.join(', ')}`)
  return granted
}

function algorithmOf(name: string | undefined): (typeof signingAlgorithms)[number] | undefined {
  if (name === undefined) return undefined
  const known = signingAlgorithms.find((one) => one === name)
  if (known === undefined)
    throw invalid(`id_token_signed_response_alg must be one of ${signingAlgorithms.join(', ')}`)
  return known
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}
