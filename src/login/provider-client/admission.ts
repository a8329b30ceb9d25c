import { domainToASCII, domainToUnicode } from 'node:url'
import type { ProviderIdentity } from '../../accounts/users/identities.ts'

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

/** What is wrong with the configured domains; `undefined` if nothing is. */
export function faultOfDomains(domains: unknown): string | undefined {
  const isDomain = (domain: unknown): boolean =>
    typeof domain === 'string' &&
    /^(\*\.)?[^\s/:@*]+\.[^\s/:@*.]+$/.test(domain) &&
    domainToASCII(domain.replace(/^\*\./, '')) !== ''
  if (Array.isArray(domains) && domains.every((domain) => isDomain(domain))) return undefined
  return 'expected domains such as example.com or *.example.com'
}
