import { isId } from '../../crypto/ids.ts'
import { anywhere, faultOfDestination } from '../../network/egress.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import { printable } from '../../telemetry/printable.ts'
import {
  idTokenClaims,
  reauthenticationProofs,
  signingAlgorithms,
  type ClientConfig,
  type ClientSettings,
  type OAuth2Config,
  secretsOf,
} from './client.ts'
import { keyFaults } from './client-assertions.ts'

/** What is wrong with a setting of a client. */
interface ClientFault {
  setting: keyof ClientSettings
  message: string
}

/** The errors in the part of `login` that is about apps, as messages for the operator. */
export function validateOAuth2({ clients = [], claims }: OAuth2Config): string[] {
  const isHook = claims === undefined || typeof claims === 'function'
  return [...validateClients(clients), ...(isHook ? [] : ['login.claims must be a function'])]
}

/** The errors in `login.clients`, as messages for the operator. */
export function validateClients(clients: readonly ClientConfig[]): string[] {
  const seen = new Set<string>()
  return clients.flatMap((client) => {
    const { id, name, secret, ...settings } = client
    const faults = [...idFaults(id, seen), ...nameFaults(name, id), ...secretFaults(secret, id)]
    seen.add(id)
    const confidential = secret !== undefined || settings.jwks !== undefined
    const ofSettings = settingsFaults(settings, { named: id, confidential }).map(({ message }) => message)
    return [...faults, ...ofSettings].map((fault) => `login.clients: ${fault}`)
  })
}

const flags = ['admin', 'managesSessions', 'firstParty', 'clientCredentials', 'deviceGrant'] as const
const choices: readonly (readonly [keyof ClientSettings, readonly unknown[]])[] = [
  ['idTokenAlgorithm', signingAlgorithms],
  ['idTokenClaims', idTokenClaims],
  ['reauthenticationProof', reauthenticationProofs],
]
const uriLists = ['redirectUris', 'postLogoutRedirectUris'] as const
/** Characters of a secret at least: 128 bits in base64url are 22. */
const shortestSecret = 20
/** Characters of a name and of a URI at most, and entries of a list: a client is read at each use of its tokens. */
export const longestName = 100
export const longestUri = 2_000
export const mostListed = 50

function idFaults(id: string, seen: ReadonlySet<string>): string[] {
  if (id === '' || seen.has(id)) return [`the id ${JSON.stringify(id)} is empty or used twice`]
  // The `sub` of a token without a user is the client's id (RFC 9068, section 5).
  if (isId(id))
    return [`the id ${id} has the form of a user's id, so tokens of the app would look like that user's`]
  return []
}

/** @param named the client in the message. */
export function nameFaults(name: string | undefined, named: string): string[] {
  const isShort = isName(name) && name.length <= longestName && isStorableText(name)
  // Marks of direction would turn the sentences around the name on the page of consent.
  if (name === undefined || (isShort && printable(name) === name && isVisible(name))) return []
  return [`name of ${named} must be a visible text in one line of at most ${longestName} characters`]
}

/** Whether anything is left without blanks, marks on letters, and characters that are not drawn, such as U+200B. */
function isVisible(text: string): boolean {
  return /[^\s\p{M}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)
}

function secretFaults(secret: ClientConfig['secret'], named: string): string[] {
  if (secret === undefined) return []
  const isText = typeof secret === 'string' || secret.every((one) => typeof one === 'string')
  const secrets = isText ? secretsOf(secret) : []
  // An empty list would make the client public.
  if (secrets.length > 0 && secrets.every((one) => one.length >= shortestSecret)) return []
  return [`secret of ${named} must have at least ${shortestSecret} characters`]
}

/**
 * The errors in the settings of a client, of the configuration or of the database.
 * @param about.named the client in the messages
 */
export function settingsFaults(
  client: ClientSettings,
  { named, confidential }: { named: string; confidential: boolean },
): ClientFault[] {
  const { audience, audiences, scopes, jwks } = client
  const faults: ClientFault[] = []
  const add = (setting: keyof ClientSettings, message: string) => faults.push({ setting, message })
  const check = (setting: keyof ClientSettings, isRight: boolean, rule: string): void => {
    if (client[setting] !== undefined && !isRight) add(setting, `${setting} of ${named} ${rule}`)
  }
  for (const flag of flags) check(flag, typeof client[flag] === 'boolean', 'must be true or false')
  const isAudience = isName(audience) || (isNames(audience) && audience.length > 0)
  check('audience', isAudience, 'must be a string or a list of strings')
  check('audiences', isNames(audiences), 'must be a list of strings')
  const areScopes = isNames(scopes) && scopes.every(isScopeText)
  check('scopes', areScopes, 'must be a list of scopes (RFC 6749, section 3.3)')
  // Several audiences are stored with spaces in between.
  for (const [setting, given] of Object.entries({ audience, audiences }))
    if ([given ?? []].flat().some((one) => typeof one === 'string' && /\s/.test(one)))
      add(setting as keyof ClientSettings, `an audience of ${named} contains a space`)
  faults.push(...uriListFaults(client, named))
  for (const [setting, values] of choices)
    check(setting, values.includes(client[setting]), `must be one of ${values.join(', ')}`)
  check('accessTokenLifetime', isSeconds(client.accessTokenLifetime, 3600), 'must be 60 to 3600 seconds')
  check('refreshTokenLifetime', isSeconds(client.refreshTokenLifetime), 'must be at least 60 seconds')
  const mayHaveCredentials = confidential || client.clientCredentials !== true
  check('clientCredentials', mayHaveCredentials, 'needs a secret or jwks')
  if (jwks !== undefined) for (const fault of keyFaults(jwks, `jwks of ${named}`)) add('jwks', fault)
  return faults
}

/** RFC 6749, section 3.3. */
export function isScopeText(scope: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)
}

function uriListFaults(client: ClientSettings, named: string): ClientFault[] {
  const faults: ClientFault[] = []
  const add = (setting: keyof ClientSettings, message: string) => faults.push({ setting, message })
  const needsNone = client.clientCredentials === true || client.deviceGrant === true
  if ((client.redirectUris ?? []).length === 0 && !needsNone)
    add('redirectUris', `${named} has no redirectUris`)
  for (const list of uriLists) {
    const uris = client[list] ?? []
    if (uris.length > mostListed) add(list, `${list} of ${named} has more than ${mostListed} entries`)
    for (const uri of uris)
      for (const fault of uriFaults(uri, `the redirect URI ${JSON.stringify(uri)} of ${named}`))
        add(list, fault)
  }
  if (client.backchannelLogoutUri !== undefined) {
    const uri = `backchannelLogoutUri of ${named}`
    const uncallable = faultOfDestination(client.backchannelLogoutUri, anywhere)
    const faults = uncallable
      ? [`${uri} cannot be called: ${uncallable}`]
      : uriFaults(client.backchannelLogoutUri, uri)
    for (const fault of faults) add('backchannelLogoutUri', fault)
  }
  return faults
}

/** Schemes that a browser handles itself, in the origin of a page or of the machine. */
const runsInBrowser = /^(javascript|data|vbscript|file|blob|about|view-source|jar|filesystem):$/

/** @param named the URI in the message. */
export function uriFaults(uri: string, named: string): string[] {
  const url = URL.parse(uri)
  if (!url || url.hash !== '' || uri.endsWith('#'))
    return [`${named} must be an absolute URL without a fragment`]
  // RFC 3986, section 2: other characters are percent-encoded. A line break would end the header Location.
  if (!/^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(uri))
    return [
      `${named} must percent-encode spaces, line breaks, backslashes and what else is no character of a URI`,
    ]
  // Browsers add what is missing, other programs do not.
  if (/^https?:(?!\/\/[^/])/i.test(uri)) return [`${named} must have // and a host after its scheme`]
  // URIs are compared as whole texts: somebody who writes a pattern expects more than that, or tries an attack.
  if (url.host.includes('*')) return [`${named} must name one host, without *`]
  if (runsInBrowser.test(url.protocol)) return [`${named} must not have the scheme ${url.protocol}`]
  if (uri.length > longestUri) return [`${named} is longer than ${longestUri} characters`]
  return []
}

function isSeconds(value: number | undefined, most = Infinity): boolean {
  return Number.isInteger(value) && value! >= 60 && value! <= most
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= mostListed && value.every(isName)
}
