import type { ProviderSettings } from '../../config/providers.ts'
import { faultOfDomains, type Admission } from '../provider-client/admission.ts'
import { defaultClaim, maxGroupCharacters, type GroupMapping } from '../provider-client/groups.ts'
import type { Quirks } from './preset.ts'

const maxClaimCharacters = 200
const roleFields = ['admin', 'exclusive']

export interface GroupsAndAdmission {
  groups: GroupMapping
  admission: Admission
  /** The scopes that the groups need beside those of the sign-in; may be empty. */
  groupScope: string
}

/**
 * Where groups are, what they give, and who may sign in. Faults are added to `faults`.
 * @param prefix of the variables: `<NAME>_`
 */
export function resolveGroups(
  settings: ProviderSettings,
  { groups: fromApi }: Quirks,
  prefix: string,
  faults: string[],
): GroupsAndAdmission {
  const { adminGroups, roles = {}, allowedEmailDomains: emailDomains = [] } = settings
  const { exclusive = false } = roles
  const unknown = Object.keys(roles).filter((field) => !roleFields.includes(field))
  if (unknown.length > 0)
    faults.push(
      `${prefix}ADMIN_GROUPS: unknown field roles.${unknown.join(', ')}; use ${roleFields.join(', ')}`,
    )
  const domainFault = faultOfDomains(emailDomains)
  if (domainFault !== undefined) faults.push(`${prefix}ALLOWED_EMAIL_DOMAINS is wrong: ${domainFault}`)
  const named = {
    admin: readNames(adminGroups ?? roles.admin, `${prefix}ADMIN_GROUPS`, faults),
    allowed: readNames(settings.allowedGroups, `${prefix}ALLOWED_GROUPS`, faults),
  }
  // Otherwise every sign-in would end the role of an admin.
  if (exclusive && named.admin.length === 0)
    faults.push(`${prefix}ADMIN_GROUPS is missing: roles.exclusive needs the groups whose members are admins`)
  const needed = named.admin.length > 0 || named.allowed.length > 0
  const claim = settings.groupsClaim ?? (needed ? defaultClaim : undefined)
  if (claim !== undefined && (typeof claim !== 'string' || claim.length > maxClaimCharacters))
    faults.push(`${prefix}GROUPS_CLAIM is wrong: expected a path of at most ${maxClaimCharacters} characters`)
  const isFromApi = fromApi !== undefined && claim === defaultClaim
  // The API gives them in lower case.
  const asNamed = (names: readonly string[]) => (isFromApi ? names.map((name) => name.toLowerCase()) : names)
  const [admin, allowed] = [asNamed(named.admin), asNamed(named.allowed)]
  // Anybody creates an organization at GitHub, with any name, and applications get what is stored.
  const stored = isFromApi && settings.groupsClaim === undefined ? [...admin, ...allowed] : undefined
  return {
    groups: { claim, admin, stored, exclusive },
    admission: { emailDomains: domainFault === undefined ? emailDomains : [], groups: allowed },
    groupScope: isFromApi ? fromApi.scope : '',
  }
}

function readNames(
  names: readonly string[] | undefined,
  setting: string,
  faults: string[],
): readonly string[] {
  if (names === undefined) return []
  if (Array.isArray(names) && names.every((name) => isGroupName(name))) return names
  faults.push(
    `${setting} is wrong: expected names of groups, each of at most ${maxGroupCharacters} characters`,
  )
  return []
}

function isGroupName(group: unknown): boolean {
  return typeof group === 'string' && group !== '' && group.length <= maxGroupCharacters
}
