import type { AccountServices } from '../accounts/services.ts'
import { BoundedCache } from '../runtime/bounded-cache.ts'
import type { GuardedHost } from './hosts.ts'
import type { Person } from './people.ts'

/** The headers that name the person and the program to the application. */
export const identityHeaders = [
  'Remote-User',
  'Remote-Email',
  'Remote-Name',
  'Remote-Groups',
  'Remote-Client',
  'Remote-Scope',
] as const

/** Who sends a request. */
export interface Named {
  /** The user's ID; of a program without a user, `app:…` or `key:…`. */
  readonly userId: string
  readonly email: string | undefined
  readonly name: string | undefined
  readonly groups: readonly string[]
  /** Only of a program: the client ID of the app, or `key:…`. */
  readonly client?: string
  /** Only of a program: its scopes, separated by spaces. */
  readonly scope?: string
}

/**
 * The headers of a person or program, as names and values in turn. All are always sent, empty if there is no value: the proxy then replaces
 * what the client sent under these names.
 */
export function headersOf(named: Named | undefined): readonly string[] {
  const { userId = '', email = '', name = '', groups = [], client = '', scope = '' } = named ?? {}
  const values = [encode(userId), encode(email), encode(name), groups.map(encodeGroup).join(',')]
  values.push(encode(client), encode(scope))
  return identityHeaders.flatMap((header, index) => [header, values[index]!])
}

/**
 * Makes a text safe for a header: what is not printable ASCII, and `%`, is percent-encoded as UTF-8. Applications read it with
 * `decodeURIComponent` or the like.
 */
function encode(text: string): string {
  return text.toWellFormed().replaceAll(/[^ -$&-~]+|^ | $/gu, encodeURIComponent)
}

/** Groups are separated by commas. */
function encodeGroup(group: string): string {
  return encode(group).replaceAll(',', '%2C')
}

/** For people who are not signed in. */
export const emptyHeaders = headersOf(undefined)

/** The cookies of this service, which no application has to see. Over https their names begin with `__Host-`. */
const ownCookies = /(?:^|;) *(?:__Host-)?postern_[\w-]+=[^;]*/g

/** A Cookie header without the cookies of this service. */
export function withoutOwnCookies(cookie: string): string {
  return cookie.replaceAll(ownCookies, '').replace(/^[; ]+/, '')
}

/** Seconds that a token is valid. */
const lifetime = 60
/** Milliseconds that a token is sent again. */
const reusedFor = 15_000
const capacity = 20_000

/** The type in the header. No other token of this service has it (RFC 8725, section 3.11). */
const type = 'forward-auth+jwt'

interface Signed {
  readonly token: Promise<string>
  readonly person: Person
  readonly until: number
}

/** Signs short-lived tokens that tell an application who the person is, so that it need not trust a bare header. */
export class IdentityTokens {
  readonly #parts: AccountServices
  readonly #signed = new BoundedCache<string, Signed>(capacity)

  constructor(parts: AccountServices) {
    this.#parts = parts
    // A key may have been withdrawn.
    parts.database.revocations.listen(() => this.#signed.clear())
  }

  /** A token for one host, with at least 45 seconds left, and until when it may be sent. */
  tokenFor(host: GuardedHost, person: Person): Pick<Signed, 'token' | 'until'> {
    const now = this.#parts.clock.now()
    const key = `${person.userId} ${person.provider} ${host.host}`
    const signed = this.#signed.get(key)
    // A person that was read again may have changed.
    if (signed?.person === person && signed.until > now && signed.until <= now + reusedFor) return signed
    const token = this.sign(host, person)
    const fresh = { token, person, until: now + reusedFor }
    this.#signed.set(key, fresh)
    token.catch(() => this.#signed.set(key, { token, person, until: 0 }))
    return fresh
  }

  /** A token that is valid for a minute. */
  sign(host: GuardedHost, { userId, email, name, groups, client, scope }: Named): Promise<string> {
    const iat = Math.floor(this.#parts.clock.now() / 1000)
    const claims = {
      iss: this.#parts.baseUrl(),
      aud: host.origin,
      sub: userId,
      iat,
      exp: iat + lifetime,
      ...(email !== undefined && { email, email_verified: true }),
      ...(name !== undefined && { name }),
      groups: [...groups],
      ...(client !== undefined && { client_id: client, scope }),
    }
    return this.#parts.signingKeys.sign(claims, { typ: type })
  }
}
