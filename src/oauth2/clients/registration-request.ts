import { isObject } from '../../json/exact.ts'
import { Type, type Static } from 'typebox'
import type { JWK } from 'jose'
import { OAuthError } from '../oauth-error.ts'
import { authenticationMethods, identityScopes, isIdentityScope, signingAlgorithms } from './client.ts'
import { nameFaults, settingsFaults, uriFaults } from './client-faults.ts'
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

/**
 * Metadata without those that are null or empty, which count as omitted (RFC 7592, section 2.2): some clients send a member for each
 * field that they know.
 */
export function withoutEmpty(metadata: unknown): unknown {
  if (!isObject(metadata)) return metadata
  const isEmpty = (value: unknown): boolean =>
    value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isEmpty(value)))
}

const unsupported = ['jwks_uri', 'sector_identifier_uri', 'request_uris', 'software_statement'] as const
export const grantTypes = ['authorization_code', 'refresh_token']

type Metadata = Static<typeof RegistrationBody>

/**
 * What an app gets that describes itself, in a registration or in a document: never first-party, no scope of this API, and no token without
 * a user. What it may not have is left out, and the answer to a registration says what is registered (RFC 7591, section 2): clients ask for
 * all that the metadata of the service lists. Addresses in the metadata are stored or rejected, and never called.
 * @param about.method checked
 * @param about.scopes see registeredScopes
 * @param invalid makes the error about a fault
 */
export function describedApp(
  metadata: Metadata,
  { name, method, scopes }: { name: string; method: string; scopes: readonly string[] },
  invalid: (reason: string) => Error,
) {
  const { grant_types: grants = grantTypes, response_types: responses = ['code'] } = metadata
  if (!grants.includes('authorization_code'))
    throw invalid('grant_types must have authorization_code, besides which only refresh_token is registered')
  if (!responses.includes('code')) throw invalid('response_types must have code')
  const algorithm = metadata.id_token_signed_response_alg
  const settings = {
    redirectUris: metadata.redirect_uris ?? [],
    postLogoutRedirectUris: metadata.post_logout_redirect_uris,
    // Those of APIs are not stored; see withReach.
    scopes: scopes.filter(isIdentityScope),
    // RS256 without a wish (OpenID Connect Registration, section 2), and instead of an algorithm that is not supported: stock clients
    // expect it.
    idTokenAlgorithm: signingAlgorithms.find((one) => one === algorithm) ?? ('RS256' as const),
    jwks: method === 'private_key_jwt' ? (metadata.jwks as { keys: JWK[] }) : undefined,
    firstParty: false,
  }
  const confidential = method !== 'none'
  const [fault] = [
    ...nameFaults(name, 'the app'),
    ...(metadata.post_logout_redirect_uris ?? []).flatMap((uri) => redirectFault(uri) ?? []),
    ...settingsFaults(settings, { named: 'the app', confidential }).map(({ message }) => message),
  ]
  if (fault !== undefined) throw invalid(fault)
  return { name, confidential, settings }
}

/**
 * The app of a registration, and what the answer says about it.
 * @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri` (RFC 7591, section 3.2.2)
 */
export function readRegistration(body: Metadata, sharedScopes: readonly string[]) {
  const refused = unsupported.find((name) => body[name] !== undefined)
  if (refused !== undefined) throw invalid(`${refused} is not supported`)
  const { client_name: name = 'Unnamed app', redirect_uris: redirectUris = [] } = body
  const fault = redirectUris.map(redirectFault).find((one) => one !== undefined)
  if (redirectUris.length === 0 || fault !== undefined)
    throw new OAuthError('invalid_redirect_uri', fault ?? 'redirect_uris is missing')
  const [method, scopes] = [methodOf(body), registeredScopes(body.scope, sharedScopes)]
  return { app: describedApp(body, { name, method, scopes }, invalid), method, scopes }
}

function methodOf({ token_endpoint_auth_method: method = 'client_secret_basic', jwks }: Metadata): string {
  const known = authenticationMethods.find((one) => one === method)
  if (known === undefined)
    throw invalid(`token_endpoint_auth_method must be one of ${authenticationMethods.join(', ')}`)
  if ((known === 'private_key_jwt') !== (jwks !== undefined))
    throw invalid('jwks belongs to the method private_key_jwt')
  return known
}

/**
 * Schemes of other programs than an app: those that browsers and operating systems handle, whose handlers do something with the rest of the
 * address. The code would reach them.
 */
const foreignSchemes = new Set(
  (
    'ws wss ftp ftps sftp tftp gopher mailto tel sms smsto mms callto facetime sip sips xmpp irc ircs news nntp ' +
    'ldap ldaps smb afp nfs dav davs webdav ssh telnet rlogin rdp vnc git svn rsync file-system ' +
    'intent android-app market content itms itms-apps itms-services shortcuts prefs app-settings ' +
    'chrome chrome-extension chrome-untrusted devtools edge moz-extension resource res opera brave safari-web-extension ' +
    'search shell hcp help mk mhtml cid mid ms-its urn magnet geo webcal feed wyciwyg livescript mocha vbs ' +
    'bitcoin ethereum apt steam-install package tag acct did ipfs ipns dns'
  ).split(' '),
)

/** `search-ms:`, `ms-msdt:`, `ms-word:` and their kin open programs and documents of Windows. */
const ofWindows = /^(?:ms-|search-ms$|microsoft-)/

/**
 * Stricter than a declaration: an app that nobody checked gets no code over plain http, except on the user's own machine, and sends nobody
 * to the scheme of another program. A scheme without a dot is accepted, although RFC 8252, section 7.1, asks apps for one: widespread apps have
 * none (`cursor:`, `vscode:`). The person is asked at each sign-in, because any program can take such a scheme (provesIdentity).
 */
export function redirectFault(uri: string): string | undefined {
  // Our error page shows it, and anyone can publish a metadata document, so it must not be a sentence.
  const shown = uri.slice(0, 100).replaceAll(/[^\w.~:/?#[\]@!$&'()*+,;=%-]/g, '?')
  const named = `the redirect URI "${shown}"`
  const [fault] = uriFaults(uri, named)
  if (fault !== undefined) return fault
  const { protocol, hostname } = new URL(uri)
  if (/^[^/?]*\/\/[^/?]*@/.test(uri)) return `${named} must not have a user or a password`
  if (protocol === 'https:') return undefined
  if (protocol === 'http:')
    return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname) ? undefined : `${named} must be https`
  const scheme = protocol.slice(0, -1)
  return foreignSchemes.has(scheme) || ofWindows.test(scheme)
    ? `${named} must not have the scheme of another program, ${protocol}`
    : undefined
}

/**
 * The scopes of a registration: those that it names, or all that it may have when it names none of them.
 * @param shared of APIs, which all apps that registered themselves may ask for
 */
export function registeredScopes(scope: string | undefined, shared: readonly string[]): string[] {
  const wanted = scope?.split(' ') ?? []
  const all = [...new Set([...identityScopes, ...shared])]
  const granted = all.filter((one) => wanted.includes(one))
  return granted.length === 0 ? all : granted
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}
