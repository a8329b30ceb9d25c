import { isObject } from '../../json/exact.ts'
import { shownName } from '../../http/requests/parameters.ts'
import { unverifiedClaims } from '../../crypto/signed-jwt.ts'
import { Problem } from '../../errors.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import { isChallenge } from '../clients/clients.ts'
import { allowsRedirect, apiFinder, type Client, defaultApisOf, requestableApis } from '../clients/client.ts'
import { AuthorizationError } from '../oauth-error.ts'
import type { Parameters } from './authorization-requests.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { claimsByScope, claimsWithin, type StoredClaims } from '../token/id-tokens.ts'

export const responseModes = ['query', 'form_post'] as const
export const prompts = ['none', 'login', 'select_account', 'consent'] as const

/** A validated authorization request. */
export interface AuthorizationRequest {
  redirectUri: string
  responseMode: (typeof responseModes)[number]
  state: string | null
  nonce: string | null
  /** The PKCE challenge (S256). */
  challenge: string | null
  /** Those of the client's scopes that it asks for, separated by spaces. */
  scope: string
  /** The APIs of its tokens (RFC 8707), separated by spaces; see `resourceOf`. */
  resource: string | null
  prompt: ReadonlySet<(typeof prompts)[number]>
  /** Seconds since the authentication at most. */
  maxAge: number | undefined
  /** Of `acr_values`, and of `acr` in `claims`; only the latter if they are essential. */
  acrValues: readonly string[]
  claims: AskedClaims
  /** Those of `scope`, and those of `claims`: what the person is asked to allow, separated by spaces. */
  scopeToAllow: string
  loginHint: string | undefined
  idTokenHint: string | undefined
  /** The identity provider that the app picks; a parameter of this service. */
  provider: string | undefined
  /** `ui_locales`. */
  locales: string | undefined
}

/** Where the answer to a request goes. It is known before the rest of the request is checked. */
export type ReturnAddress = Pick<AuthorizationRequest, 'redirectUri' | 'responseMode' | 'state'>

/** Parameters of a request at most; the standards define about thirty. */
const mostParameters = 60
/** Characters of `state` and `nonce` at most. */
const longestText = 4096
/** Characters of a hint at most: that of an e-mail address. */
const longestHint = 320
/** Characters of the name of a provider, and of `ui_locales`, at most. */
const longestProvider = 100
const longestLocales = 500
/** Characters of an id_token_hint at most: an id_token with hundreds of groups is shorter. */
const longestIdToken = 8192

/** The parameters that are read. Others are ignored, and not stored. */
const known: ReadonlySet<string> = new Set(
  'response_type redirect_uri response_mode state nonce scope resource prompt max_age acr_values claims login_hint id_token_hint code_challenge code_challenge_method provider ui_locales'.split(
    ' ',
  ),
)

/** The parts of a value that count, for parameters of any length. */
const counting: Readonly<Record<string, (client: Client, value: string) => string>> = {
  scope: (client, value) => scopeOf(client, value),
  prompt: (_, value) => [...promptOf(value)].join(' '),
  acr_values: (_, value) => acrValuesOf(value).join(' '),
  login_hint: (_, value) => hintOf(value) ?? '',
  ui_locales: (_, value) => localesOf(value),
}

/** What the second reading of a validated request needs. Nobody is authenticated yet, so nothing else is stored. */
export function parametersToStore(client: Client, parameters: Parameters): Parameters {
  return parameters
    .filter(([name]) => known.has(name))
    .map(([name, value]) => [name, counting[name]?.(client, value) ?? value])
}

/** The values of a name. */
function valuesOf(parameters: Parameters, name: string): string[] {
  return parameters.filter(([one]) => one === name).map(([, value]) => value)
}

function valueOf(parameters: Parameters, name: string): string | undefined {
  return valuesOf(parameters, name)[0]
}

/**
 * Where the answer goes.
 * @throws Problem `invalid-parameter` when the redirect URI is not registered for the client: then nothing may be sent there
 */
export function returnAddress(client: Client, parameters: Parameters): ReturnAddress {
  const [redirectUri, ...others] = valuesOf(parameters, 'redirect_uri')
  if (redirectUri === undefined || others.length > 0 || !allowsRedirect(client, redirectUri))
    throw new Problem('invalid-parameter', {
      parameter: 'redirect_uri',
      detail: 'It is missing, came twice, or is not registered for this app. It must match exactly.',
    })
  // The error about an unsupported request object (RFC 9101) goes where the object asks for it. Nothing else of the object counts.
  const request = valueOf(parameters, 'request')
  const isReadable = request !== undefined && request.length <= longestIdToken
  const object = (isReadable ? unverifiedClaims(request) : undefined) ?? {}
  const state = valueOf(parameters, 'state') ?? object['state']
  const mode = valueOf(parameters, 'response_mode') ?? object['response_mode']
  return {
    redirectUri,
    responseMode: mode === 'form_post' ? 'form_post' : 'query',
    state: typeof state === 'string' && isText(state) ? state : null,
  }
}

/** @throws AuthorizationError, which belongs to the return address */
export function parseRequest(
  client: Client,
  address: ReturnAddress,
  parameters: Parameters,
): AuthorizationRequest {
  const value = (name: string): string | undefined => valueOf(parameters, name)
  refuseUnsupported(parameters)
  const scope = scopeOf(client, value('scope'))
  const claims = askedClaims(client, checkedText('claims', value('claims')) ?? undefined, scope)
  return {
    ...address,
    nonce: checkedText('nonce', value('nonce')),
    challenge: challengeOf(client, value('code_challenge'), value('code_challenge_method')),
    scope,
    claims,
    scopeToAllow: scopeToAllow(scope, claims),
    resource: resourceOf(client, valuesOf(parameters, 'resource')),
    prompt: promptOf(value('prompt')),
    maxAge: maxAgeOf(value('max_age')),
    acrValues: acrValuesIn(value('acr_values'), claims.acr),
    loginHint: hintOf(value('login_hint')),
    idTokenHint: idTokenHintOf(value('id_token_hint')),
    provider: checkedText('provider', value('provider'), longestProvider) ?? undefined,
    locales: localesOf(value('ui_locales')) || undefined,
  }
}

function refuseUnsupported(parameters: Parameters): void {
  // Before the search for repeated names, whose time grows with the square of their number.
  if (parameters.length > mostParameters)
    throw invalid(`the request has more than ${mostParameters} parameters`)
  const names = parameters.map(([name]) => name).filter((name) => name !== 'resource')
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw invalid(`the parameter ${shownName(repeated)} came twice`)
  const value = (name: string): string | undefined => valueOf(parameters, name)
  checkedText('state', value('state'))
  if (value('request') !== undefined)
    throw new AuthorizationError('request_not_supported', 'request objects are not supported')
  if (value('request_uri') !== undefined)
    throw new AuthorizationError(
      'request_uri_not_supported',
      'only request URIs of /oauth2/par are supported',
    )
  if (value('registration') !== undefined)
    throw new AuthorizationError('registration_not_supported', 'the parameter registration is not supported')
  if (value('response_type') === undefined) throw invalid('response_type is missing')
  if (value('response_type') !== 'code')
    throw new AuthorizationError('unsupported_response_type', 'only the response type code is supported')
  const mode = value('response_mode')
  if (mode !== undefined && !isOneOf(responseModes, mode))
    throw invalid(`response_mode must be one of ${responseModes.join(', ')}`)
}

function challengeOf(
  client: Client,
  challenge: string | undefined,
  method: string | undefined,
): string | null {
  if (challenge === undefined && method === undefined && client.confidential) return null
  // RFC 7636, section 4.3: without a method it would be `plain`, which reveals the verifier.
  if (method !== 'S256') throw invalid('code_challenge_method must be S256')
  if (!isChallenge(challenge)) throw invalid('code_challenge is missing or not of the form of RFC 7636')
  return challenge
}

/** Unknown scopes are ignored (OpenID Connect Core, section 3.1.2.1), unless nothing remains. */
export function scopeOf(client: Client, wanted = ''): string {
  const asked = [...new Set(wanted.split(' ').filter((scope) => scope !== ''))]
  const allowed = asked.filter((scope) => client.scopes.includes(scope))
  if (asked.length > 0 && allowed.length === 0)
    throw new AuthorizationError('invalid_scope', `this app may ask for ${client.scopes.join(' ')}`)
  return allowed.join(' ')
}

/**
 * The APIs of a request. For an app of others that names none, those of its declaration: the page of consent shows them, and
 * its tokens keep them when the declaration changes. Null for those that the declaration has at each issue.
 * @throws AuthorizationError `invalid_target`
 */
export function resourceOf(client: Client, wanted: readonly string[]): string | null {
  if (wanted.length === 0) return client.firstParty ? null : defaultApisOf(client).join(' ') || null
  const named = wanted.map(apiFinder(requestableApis(client)))
  if (named.includes(undefined))
    throw new AuthorizationError('invalid_target', 'this app may not ask for this resource')
  return [...new Set(named)].join(' ')
}

function promptOf(wanted = ''): AuthorizationRequest['prompt'] {
  const values = wanted.split(' ').filter((one) => one !== '')
  const known = values.filter((one) => isOneOf(prompts, one))
  if (known.length < values.length) throw invalid(`prompt must be some of ${prompts.join(', ')}`)
  if (known.includes('none') && known.length > 1) throw invalid('prompt=none excludes other values')
  return new Set(known)
}

function maxAgeOf(wanted: string | undefined): number | undefined {
  if (wanted === undefined) return undefined
  if (!/^\d{1,9}$/.test(wanted)) throw invalid('max_age must be a number of seconds')
  return Number(wanted)
}

function hintOf(hint: string | undefined): string | undefined {
  return hint !== undefined && hint.length <= longestHint && isStorableText(hint) ? hint : undefined
}

function idTokenHintOf(hint: string | undefined): string | undefined {
  if (hint !== undefined && hint.length > longestIdToken)
    throw invalid(`id_token_hint has more than ${longestIdToken} characters`)
  return hint
}

function acrValuesOf(wanted = ''): string[] {
  return wanted
    .split(' ')
    .filter((acr) => acr !== '' && acr.length <= 255)
    .slice(0, 10)
}

/** `acr` must be one of the essential values, and those of the parameter are voluntary (OpenID Connect Core, section 5.5.1.1). */
function acrValuesIn(wanted: string | undefined, acr: AskedClaims['acr']): readonly string[] {
  const { values = [], essential = false } = acr ?? {}
  return essential && values.length > 0 ? values : [...acrValuesOf(wanted), ...values]
}

function localesOf(wanted = ''): string {
  return wanted.slice(0, longestLocales)
}

function checkedText(name: string, text: string | undefined, longest = longestText): string | null {
  if (text === undefined) return null
  if (text.length > longest) throw invalid(`${name} has more than ${longest} characters`)
  if (!isStorableText(text)) throw invalid(`${name} has a character that cannot be stored`)
  return text
}

function isText(text: string): boolean {
  return text.length <= longestText && isStorableText(text)
}

function isOneOf<T extends string>(list: readonly T[], value: string): value is T {
  return (list as readonly string[]).includes(value)
}

function invalid(description: string): AuthorizationError {
  return new AuthorizationError('invalid_request', description)
}

/** What the parameter `claims` requests (OpenID Connect Core, section 5.5), in addition to the scopes. */
interface AskedClaims {
  /** Claims about the user. Essential ones are treated as voluntary ones: an app has to check what it gets (section 5.5.1). */
  userinfo: readonly string[]
  idToken: readonly string[]
  /** The users that the app accepts; undefined for any. */
  subjects: readonly string[] | undefined
  /** `acr` in the id_token; undefined if it is not asked for. */
  acr: { values: readonly string[]; essential: boolean } | undefined
}

/** `acr` of a sign-in whose provider reports none (section 2: no confidence in the authentication). */
export const noContext = '0'

const nothing: AskedClaims = { userinfo: [], idToken: [], subjects: undefined, acr: undefined }

/**
 * @param text of at most 4,096 characters
 * @param scope the granted scopes, separated by spaces: without `openid`, there is neither an id_token nor userinfo
 * @throws AuthorizationError `invalid_request`
 */
function askedClaims(client: Client, text: string | undefined, scope: string): AskedClaims {
  if (text === undefined) return nothing
  const { userinfo, id_token: idToken } = parse(text)
  if (!scope.split(' ').includes('openid')) return nothing
  const subjects = [userinfo, idToken]
    .map((member) => askedValuesOf(member?.['sub']))
    .filter((one) => one !== undefined)
  const acr = idToken && 'acr' in idToken ? idToken['acr'] : undefined
  return {
    userinfo: claimsWithin(client, Object.keys(userinfo ?? {})),
    idToken: claimsWithin(client, Object.keys(idToken ?? {})),
    subjects: subjects.length === 0 ? undefined : subjects.flat(),
    acr:
      acr === undefined
        ? undefined
        : {
            values: (askedValuesOf(acr) ?? []).filter((one) => /^[^\s\p{C}]{1,255}$/u.test(one)).slice(0, 10),
            essential: isObject(acr) && acr['essential'] === true,
          },
  }
}

type Member = Readonly<Record<string, unknown>>

function parse(text: string): { userinfo?: Member | undefined; id_token?: Member | undefined } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('claims is not JSON')
  }
  if (!isObject(value)) throw invalid('claims is not a JSON object')
  const member = (name: string): Member | undefined => {
    const asked = Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined
    if (asked !== undefined && !isObject(asked)) throw invalid(`${name} of claims is not a JSON object`)
    return asked
  }
  return { userinfo: member('userinfo'), id_token: member('id_token') }
}

/** `value` or `values` of the request for one claim; undefined without one. */
function askedValuesOf(asked: unknown): string[] | undefined {
  if (!isObject(asked) || (asked['value'] === undefined && asked['values'] === undefined)) return undefined
  return [asked['value'], asked['values']].flat().filter((one) => typeof one === 'string')
}

/** The scopes that people are asked to allow: those of the request, and those that give the claims it asks for. */
function scopeToAllow(scope: string, { userinfo, idToken }: AskedClaims): string {
  const names = new Set([...userinfo, ...idToken])
  const ofClaims = Object.entries(claimsByScope).filter(([, claims]) =>
    claims.some((claim) => names.has(claim)),
  )
  return [...new Set([...scope.split(' '), ...ofClaims.map(([name]) => name)])].join(' ').trim()
}

/** The column of a code and a token family; null if there is nothing to store. */
export function claimsToStore(
  { userinfo, idToken, acr: asked }: AskedClaims,
  acrValues: readonly string[],
  session: Session,
): string | null {
  const acr = asked || acrValues.length > 0 ? reachedContext(session, acrValues) : undefined
  if (userinfo.length + idToken.length === 0 && acr === undefined) return null
  return JSON.stringify({ userinfo, idToken, ...(acr !== undefined && { acr }) } satisfies StoredClaims)
}

/** The first of the values that the sign-in reached, otherwise the one that it has. */
function reachedContext(session: Session, acrValues: readonly string[]): string {
  return acrValues.find((acr) => reached(session, acr)) ?? session.acr ?? noContext
}

/** Whether a sign-in reached an authentication context. Providers may report several, separated by spaces. */
export function reached(session: Session | undefined, acr: string): boolean {
  return acr === noContext || session?.acr?.split(' ').includes(acr) === true
}
