import type { AccountServices } from '../accounts/services.ts'
import { identitiesOf } from '../accounts/users/identities.ts'
import type { Session } from '../accounts/sessions/session-lookup.ts'
import { BoundedCache } from '../runtime/bounded-cache.ts'
import { headersOf } from './identity-headers.ts'
import type { Condition, PeopleRule } from './hosts.ts'

/** What rules and headers need to know about a user who signed in with a provider, besides the session. */
export type Person = NonNullable<Awaited<ReturnType<typeof readPerson>>>

/** Milliseconds for which a person is cached. The session and the role are read for each request, and the rest changes at a sign-in. */
export const cacheTime = 30_000
const capacity = 10_000

/** Whose person it is: of a session, or of a person that was found. */
type SignIn = Pick<Session, 'userId' | 'provider'>

interface CachedPerson {
  readonly reading: Promise<Person | undefined>
  /** Once it is read. */
  person?: Person | undefined
  readonly until: number
}

interface PeopleParts extends Pick<AccountServices, 'database' | 'users' | 'clock'> {
  /** Whether a rule asks for identities. */
  withIdentities: boolean
}

/** Reads people, and caches them for seconds: a page with many assets asks about one person many times. */
export class People {
  readonly #parts: PeopleParts
  readonly #cache = new BoundedCache<string, CachedPerson>(capacity)

  constructor(parts: PeopleParts) {
    this.#parts = parts
    parts.database.revocations.listen(() => this.#cache.clear())
  }

  /** The person, if it is cached. */
  cached(signIn: SignIn): Person | undefined {
    return this.#current(signIn)?.person
  }

  /** Until when `cached` returns the person, unless a revocation comes before; 0 if it is not cached. */
  cachedUntil(signIn: SignIn): number {
    return this.#current(signIn)?.until ?? 0
  }

  find(signIn: SignIn): Promise<Person | undefined> {
    const current = this.#current(signIn)
    if (current) return current.reading
    const cached: CachedPerson = {
      reading: readPerson(this.#parts, signIn),
      until: this.#parts.clock.now() + cacheTime,
    }
    const key = keyOf(signIn)
    this.#cache.set(key, cached)
    cached.reading.then(
      (person) => (cached.person = person),
      // The caller gets the error; the next one reads again.
      () => this.#cache.set(key, { ...cached, until: 0 }),
    )
    return cached.reading
  }

  #current(signIn: SignIn): CachedPerson | undefined {
    const cached = this.#cache.get(keyOf(signIn))
    const now = this.#parts.clock.now()
    return cached && cached.until > now && cached.until <= now + cacheTime ? cached : undefined
  }
}

async function readPerson({ database, users, withIdentities }: PeopleParts, { userId, provider }: SignIn) {
  const [profile, identities] = await Promise.all([
    users.profile(database.reader, userId, provider),
    withIdentities ? identitiesOf(database.reader, userId) : [],
  ])
  if (!profile) return undefined
  const person = {
    userId,
    /** The provider of the sign-in. */
    provider,
    /** Only if a provider verified it. */
    email: profile.emailVerified ? (profile.email ?? undefined) : undefined,
    name: profile.name ?? undefined,
    /** Those that the provider of the sign-in named. */
    groups: profile.groups,
    /** `provider:id`; empty if no rule asks for identities. */
    identities: new Set(identities.map(({ provider, providerId }) => `${provider}:${providerId}`)),
  }
  // They name the person to applications.
  return { ...person, headers: headersOf(person) }
}

function keyOf({ userId, provider }: SignIn): string {
  return `${userId} ${provider}`
}

/** Whether a rule lets a signed-in person pass. @param role the one that counts now */
export function lets(rule: PeopleRule, role: Session['role'], person: Person): boolean {
  if (typeof rule === 'string') return true
  return rule.some((condition) => holds(condition, role, person))
}

function holds(condition: Condition, role: Session['role'], person: Person): boolean {
  const { roles, emailDomains, identities, providers, groups } = condition
  if (roles && !roles.has(role)) return false
  if (emailDomains && !emailDomains.has(domainOf(person.email))) return false
  if (identities && identities.isDisjointFrom(person.identities)) return false
  if (providers && !providers.has(person.provider)) return false
  return !groups || person.groups.some((group) => groups.has(group))
}

function domainOf(email: string | undefined): string {
  return email === undefined ? '' : email.slice(email.lastIndexOf('@') + 1).toLowerCase()
}
