import type { ProviderSettings } from '../../config/providers.ts'
import { maxGroupCharacters, type GroupMapping } from '../groups.ts'

const maxClaimCharacters = 200
const roleFields = ['admin', 'exclusive']

/** Where groups are and what they give. Faults are added to `faults`. @param prefix of the variables: `<NAME>_` */
export function resolveGroups(
  { groupsClaim, adminGroups, roles = {} }: ProviderSettings,
  prefix: string,
  faults: string[],
): GroupMapping {
  const admin = adminGroups ?? roles.admin ?? []
  const claim = groupsClaim ?? (admin.length > 0 ? 'groups' : undefined)
  const { exclusive = false } = roles
  const unknown = Object.keys(roles).filter((field) => !roleFields.includes(field))
  if (unknown.length > 0)
    faults.push(
      `${prefix}ADMIN_GROUPS: unknown field roles.${unknown.join(', ')}; use ${roleFields.join(', ')}`,
    )
  if (!Array.isArray(admin) || !admin.every((group) => isGroupName(group))) {
    faults.push(
      `${prefix}ADMIN_GROUPS is wrong: expected names of groups, each of at most ${maxGroupCharacters} characters`,
    )
    return { claim, admin: [], exclusive }
  }
  if (claim !== undefined && (typeof claim !== 'string' || claim.length > maxClaimCharacters))
    faults.push(`${prefix}GROUPS_CLAIM is wrong: expected a path of at most ${maxClaimCharacters} characters`)
  // Otherwise every sign-in would end the role of an admin.
  if (exclusive && admin.length === 0)
    faults.push(`${prefix}ADMIN_GROUPS is missing: roles.exclusive needs the groups whose members are admins`)
  return { claim, admin, exclusive }
}

function isGroupName(group: unknown): boolean {
  return typeof group === 'string' && group !== '' && group.length <= maxGroupCharacters
}
