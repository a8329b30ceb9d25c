import { isJwt, readBearer } from '../http/access/access.ts'
import { RefusedKey } from '../accounts/tokens/api-keys.ts'
import type { AuditOrigin } from '../accounts/audit/audit.ts'
import type { Refusal } from '../accounts/refusals.ts'
import { hashToken } from '../crypto/secrets.ts'
import { Problem } from '../errors.ts'
import type { RawCall } from '../http/raw/call.ts'
import type { Role } from '../storage/tables.ts'
import type { ForwardedRequest } from './forwarded-request.ts'
import type { GuardedHost, Rule } from './hosts.ts'
import type { Named } from './identity-headers.ts'
import type { ForwardAuthBasis } from './passes.ts'
import { lets, type People, type Person } from './people.ts'
import type { TokenLookups } from './token-lookups.ts'

/** A program with a valid access token or API key. */
interface Program {
  named: Named
  hasScopes: boolean
  /** Of an access token, unless its app has no user; with the role that counts. */
  user?: { person: Person; role: Role }
}

/** A request with its rules, of which each must hold. */
export interface RuledRequest extends ForwardedRequest {
  guarded: GuardedHost
  rules: readonly Rule[]
  /** The scopes that a program needs; `undefined` if only people may pass. */
  scopes: readonly string[] | undefined
}

/** Audits a rejection. */
type Note = (refusal: Refusal, caller?: Caller) => Promise<void>
/** Of a refused request, as far as known. */
export type Caller = AuditOrigin & { userId?: string | undefined }

type ProgramsParts = ForwardAuthBasis & { people: People; lookups: TokenLookups }

/**
 * A program at a guarded host. Each request reads the key or the sign-in of the token, so a revocation takes effect at once. Only the user's
 * groups, name and address are cached, as for people in browsers.
 * @throws Problem `not-signed-in` for an invalid credential, `forbidden` for one that the rules do not let pass
 */
export async function admitProgram(
  parts: ProgramsParts,
  call: RawCall,
  asked: RuledRequest,
  note: Note,
): Promise<Named> {
  const { guarded, rules, scopes = [] } = asked
  const { named, hasScopes, user } = await find(parts, call, asked, note)
  if (hasScopes && (!user || rules.every(({ allow }) => lets(allow, user.role, user.person)))) return named
  parts.count(guarded.host, 'forbidden')
  const code = hasScopes ? 'forbidden' : 'insufficient-scope'
  const caller = user ? { actor: `user:${named.userId}`, userId: named.userId } : { actor: named.userId }
  await note({ action: 'forward_auth.forbidden', code, target: `host:${guarded.host}` }, caller)
  if (hasScopes)
    throw new Problem('forbidden', { detail: "The rules do not let the token's user use the path." })
  const detail = `This path needs an access token or API key with the scopes ${scopes.join(' ')}.`
  throw new Problem('forbidden', { detail, challenge: challengeOf(guarded, scopes, 'insufficient_scope') })
}

async function find(parts: ProgramsParts, call: RawCall, asked: RuledRequest, note: Note): Promise<Program> {
  const { lookups, count } = parts
  const { guarded, scopes = [], authorization = '' } = asked
  const key = `${guarded.host} ${hashToken(authorization).toString('base64')}`
  const look = async () => {
    const credential = readBearer(authorization)
    return isJwt(credential) ? ofToken(parts, credential, guarded, scopes) : ofKey(parts, credential, scopes)
  }
  try {
    const program = await lookups.lookUp(key, () => call.network, look)
    if (program) return program
    throw new Problem('not-signed-in', {
      detail: 'The access token or API key is invalid, expired or revoked.',
    })
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'not-signed-in') throw error
    count(guarded.host, 'signed-out')
    const { cause } = error.extras
    if (cause instanceof RefusedKey)
      await note({ action: 'key.refused', code: cause.code, target: cause.keyId && `key:${cause.keyId}` })
    const advice = `Send an API key, or an access token for ${guarded.origin}, with the scopes ${scopes.join(' ')}.`
    const challenge = challengeOf(guarded, scopes, 'invalid_token')
    throw new Problem('not-signed-in', { advice, challenge, ...error.extras })
  }
}

async function ofKey({ keys }: ProgramsParts, key: string, scopes: readonly string[]): Promise<Program> {
  const { id, scopes: scope } = await keys.find(key)
  const held = scope.split(' ')
  const hasScopes = held.includes('admin') || scopes.every((one) => held.includes(one))
  return { named: withoutUser(`key:${id}`, `key:${id}`, scope), hasScopes }
}

async function ofToken(
  { accessTokens, people, secondFactor }: ProgramsParts,
  token: string,
  { audience }: GuardedHost,
  scopes: readonly string[],
): Promise<Program | undefined> {
  const { claims, app, live } = await accessTokens.accept(token, audience)
  const { scope = '', sub, client_id: client } = claims
  const hasScopes = scopes.every((one) => scope.split(' ').includes(one))
  if (!live) return { named: withoutUser(`app:${client}`, client, scope), hasScopes }
  // As with sessions: the application cannot see that an admin acts for the user.
  if (live.impersonatorId !== null) throw new Problem('impersonating')
  const person = await people.find({ userId: sub, provider: live.provider })
  if (!person) return undefined
  // As in the API: an attacker who takes over the app gets admins' tokens.
  const isAdmin = app.admin === true && !secondFactor.isMissing(live.role, live)
  const user = { person, role: isAdmin ? live.role : 'user' }
  return { named: { ...person, client, scope }, hasScopes, user }
}

function withoutUser(userId: string, client: string, scope: string): Named {
  return { userId, email: undefined, name: undefined, groups: [], client, scope }
}

/** The scopes that a program needs to satisfy all rules; `undefined` if no program may pass, or needs no credential. */
export function scopesFor(rules: readonly Rule[]): readonly string[] | undefined {
  const closed = rules.filter(({ allow }) => allow !== 'everyone')
  if (closed.length === 0 || !closed.every(({ programs }) => programs)) return undefined
  return [...new Set(closed.flatMap(({ programs }) => programs?.scopes ?? []))]
}

/** RFC 6750, section 3, and RFC 9728, section 5.1. */
export function challengeOf(
  { origin, resource }: GuardedHost,
  scopes: readonly string[],
  error?: 'invalid_token' | 'insufficient_scope',
): string {
  const about = resource ? `, resource_metadata="${origin}${resource.path}"` : ''
  return `Bearer ${error ? `error="${error}", ` : ''}scope="${scopes.join(' ')}"${about}`
}
