import { isObject } from '../../json/exact.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import { type ProfileDocument } from './profile.ts'
import type { GroupSource, Quirks } from '../providers/preset.ts'
import { domainToASCII, domainToUnicode } from 'node:url'
import type { ProviderIdentity } from '../../accounts/users/identities.ts'

/** Where a provider names the groups of a person, and which of them have a role here. */
export interface GroupMapping {
  /** The path of the claim: `groups`, `realm_access.roles`; `undefined` when groups are not read. */
  claim: string | undefined
  /** The groups whose members are admins. */
  admin: readonly string[]
  /** The groups that are stored; `undefined` for all. */
  stored: readonly string[] | undefined
  /** Whether a sign-in without such a group also ends a role that an admin assigned. */
  exclusive: boolean
}

/** The claim of the groups that a preset reads from the provider's API. */
export const defaultClaim = 'groups'

/** The most groups of one identity. */
const maxGroups = 200
/** The longest name of a group, in UTF-16 code units. A cut name could be that of another group. */
export const maxGroupCharacters = 255

/**
 * All groups that the provider's verified answer names. A preset may read them from the API.
 * @throws ProfileRefused when the API refuses to tell, so that a role neither begins nor ends by a failure.
 */
export async function readGroups(
  document: ProfileDocument,
  { claim }: GroupMapping,
  groups: Quirks['groups'],
  source: GroupSource,
): Promise<ReadonlySet<string>> {
  if (claim === undefined) return new Set()
  const value = groups && claim === defaultClaim ? await groups.read(source) : claimAt(document, claim)
  return new Set((Array.isArray(value) ? value : [value]).filter((one) => isGroup(one)))
}

/** The groups to store, at most `maxGroups`, and the first configured one that makes the person an admin. */
export function mapGroups(
  named: ReadonlySet<string>,
  { admin, stored = [...named] }: GroupMapping,
): { groups: readonly string[]; adminGroup: string | null } {
  const mapped = admin.filter((group) => named.has(group))
  const kept = stored.filter((group) => named.has(group))
  // Of too many, those with a role are stored.
  return { groups: [...new Set([...mapped, ...kept])].slice(0, maxGroups), adminGroup: mapped[0] ?? null }
}

function isGroup(value: unknown): value is string {
  return (
    typeof value === 'string' && value !== '' && value.length <= maxGroupCharacters && isStorableText(value)
  )
}

/**
 * The value at a path. A dot separates levels, or is part of a name: `https://example.com/groups` is one name. The longest
 * name takes precedence.
 */
function claimAt(document: ProfileDocument, path: string): unknown {
  if (Object.hasOwn(document, path)) return document[path]
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot)
    const inner = Object.hasOwn(document, name) ? document[name] : undefined
    if (isObject(inner)) return claimAt(inner, path.slice(dot + 1))
  }
  return undefined
}

/** Who may sign in with a provider, by its verified answer. An empty list admits everybody. */
export interface Admission {
  /** Domains of e-mail addresses; `*.example.com` stands for all domains below `example.com`, without itself. */
  emailDomains: readonly string[]
  /** One of these groups is needed. */
  groups: readonly string[]
}

/**
 * Why a person may not sign in; `undefined` if they may.
 * @param groups all groups that the provider names, also those beyond the stored ones
 */
export function refusalOf(
  { email, emailVerified }: Pick<ProviderIdentity, 'email' | 'emailVerified'>,
  groups: ReadonlySet<string>,
  admission: Admission,
): string | undefined {
  if (admission.groups.length > 0 && !admission.groups.some((group) => groups.has(group)))
    return 'the person is in none of the allowed groups'
  if (admission.emailDomains.length === 0) return undefined
  if (email === null) return 'the provider returns no email address, so its domain is unknown'
  if (!emailVerified) return 'the e-mail address is not verified, so that its domain proves nothing'
  return isAllowedDomain(email, admission.emailDomains)
    ? undefined
    : 'the domain of the e-mail address is not allowed'
}

/**
 * Whether the domain of an e-mail address is one of the patterns. The address is not normalized except for the case of
 * ASCII letters: a mapping by IDNA or Unicode makes equal what a mail server or the provider may tell apart.
 */
function isAllowedDomain(email: string, patterns: readonly string[]): boolean {
  const [local, domain, ...rest] = email.split('@')
  // With two @ it depends on the parser which one separates the domain.
  if (!local || !domain || rest.length > 0) return false
  const named = lowerCase(domain)
  return patterns.some((pattern) => {
    const below = pattern.startsWith('*.')
    return formsOf(below ? pattern.slice(2) : pattern).some((form) =>
      below ? named.endsWith(`.${form}`) && named.length > form.length + 1 : named === form,
    )
  })
}

/** A configured domain in both of its spellings: `bücher.example` and `xn--bcher-kva.example`. */
function formsOf(domain: string): string[] {
  const ascii = domainToASCII(domain)
  return [ascii, domainToUnicode(ascii)]
}

/** Only ASCII: the lower case of the Kelvin sign is `k`. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Whether these can be the `emailDomains` of an `Admission`. */
export function areDomains(domains: unknown): boolean {
  const isDomain = (domain: unknown): boolean =>
    typeof domain === 'string' &&
    /^(\*\.)?[^\s/:@*]+\.[^\s/:@*.]+$/.test(domain) &&
    domainToASCII(domain.replace(/^\*\./, '')) !== ''
  return Array.isArray(domains) && domains.every((domain) => isDomain(domain))
}
