import type { Session } from '../../accounts/sessions/session-lookup.ts'
import type { Client } from '../clients/client.ts'
import { AuthorizationError } from '../oauth-error.ts'
import { claimsByScope, claimsWithin, type StoredClaims } from '../token/id-tokens.ts'

/** What the parameter `claims` requests (OpenID Connect Core, section 5.5), in addition to the scopes. */
export interface AskedClaims {
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
export function askedClaims(client: Client, text: string | undefined, scope: string): AskedClaims {
  if (text === undefined) return nothing
  const { userinfo, id_token: idToken } = parse(text)
  if (!scope.split(' ').includes('openid')) return nothing
  const subjects = [userinfo, idToken]
    .map((member) => valuesOf(member?.['sub']))
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
            values: (valuesOf(acr) ?? []).filter((one) => /^[^\s\p{C}]{1,255}$/u.test(one)).slice(0, 10),
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
function valuesOf(asked: unknown): string[] | undefined {
  if (!isObject(asked) || (asked['value'] === undefined && asked['values'] === undefined)) return undefined
  return [asked['value'], asked['values']].flat().filter((one) => typeof one === 'string')
}

/** The scopes that people are asked to allow: those of the request, and those that give the claims it asks for. */
export function scopeToAllow(scope: string, { userinfo, idToken }: AskedClaims): string {
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(description: string): AuthorizationError {
  return new AuthorizationError('invalid_request', description)
}
