import type { Session } from '../accounts/session-lookup.ts'
import type { Users } from '../accounts/users.ts'
import { BoundedCache } from '../paging/bounded-cache.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import type { Condition, Rule } from './hosts.ts'

/** What rules and headers need to know about a user, besides the session. */
export interface Person {
  readonly userId: string
  /** Only if a provider verified it. */
  readonly email: string | undefined
  readonly name: string | undefined
  readonly groups: readonly string[]
  /** `provider:id`; empty if no rule asks for identities. */
  readonly identities: ReadonlySet<string>
}

/** Milliseconds that a person is kept. The session and the role are read for each request. */
const keptFor = 5_000
const capacity = 10_000

interface Kept {
  readonly person: Promise<Person | undefined>
  readonly until: number
}

/** Reads people, and keeps them for seconds: a page with many assets asks about one person many times. */
export class People {
  readonly #database: Database
  readonly #users: Users
  readonly #clock: Clock
  readonly #withIdentities: boolean
  #kept = new BoundedCache<string, Kept>(capacity)

  /** @param parts.withIdentities whether a rule asks for identities */
  constructor(parts: { database: Database; users: Users; clock: Clock; withIdentities: boolean }) {
    const { database } = parts
    this.#database = database
    this.#users = parts.users
    this.#clock = parts.clock
    this.#withIdentities = parts.withIdentities
    database.revocations.listen(() => {
      this.#kept = new BoundedCache(capacity)
    })
  }

  find(userId: string): Promise<Person | undefined> {
    const now = this.#clock.now()
    const kept = this.#kept.get(userId)
    if (kept && kept.until > now && kept.until <= now + keptFor) return kept.person
    const person = this.#read(userId)
    this.#kept.set(userId, { person, until: now + keptFor })
    // The caller gets the error; the next one reads again.
    person.catch(() => this.#kept.set(userId, { person, until: 0 }))
    return person
  }

  async #read(userId: string): Promise<Person | undefined> {
    const { reader } = this.#database
    const [profile, identities] = await Promise.all([
      this.#users.profile(reader, userId),
      this.#withIdentities ? this.#users.identities(reader, userId) : [],
    ])
    if (!profile) return undefined
    return {
      userId,
      email: profile.emailVerified ? (profile.email ?? undefined) : undefined,
      name: profile.name ?? undefined,
      groups: profile.groups,
      identities: new Set(identities.map(({ provider, providerId }) => `${provider}:${providerId}`)),
    }
  }
}

/** Whether a rule lets a signed-in person pass. @param role the one that counts now */
export function lets(rule: Rule, role: Session['role'], person: Person): boolean {
  if (typeof rule === 'string') return true
  return rule.some((condition) => holds(condition, role, person))
}

function holds(condition: Condition, role: Session['role'], person: Person): boolean {
  const { roles, emailDomains, identities, groups } = condition
  if (roles && !roles.has(role)) return false
  if (emailDomains && !emailDomains.has(domainOf(person.email))) return false
  if (identities && identities.isDisjointFrom(person.identities)) return false
  return !groups || person.groups.some((group) => groups.has(group))
}

function domainOf(email: string | undefined): string {
  return email === undefined ? '' : email.slice(email.lastIndexOf('@') + 1).toLowerCase()
}
