import { isStorableText } from '../storage/text.ts'
import { isObject, type ProfileDocument } from './profile.ts'

/** Where a provider names the groups of a person, and which of them have a role here. */
export interface GroupMapping {
  /** The path of the claim: `groups`, `realm_access.roles`; `undefined` when groups are not read. */
  claim: string | undefined
  /** The groups whose members are admins. */
  admin: readonly string[]
  /** Whether a sign-in without such a group also ends a role that an admin assigned. */
  exclusive: boolean
}

/** The most groups of one identity. */
const maxGroups = 200
/** The longest name of a group, in UTF-16 code units. A cut name could be that of another group. */
export const maxGroupCharacters = 255

/** The groups in a provider's verified answer, and the first configured one that makes the person an admin. */
export function readGroups(
  document: ProfileDocument,
  { claim, admin }: GroupMapping,
): { groups: readonly string[]; adminGroup: string | null } {
  if (claim === undefined) return { groups: [], adminGroup: null }
  const value = claimAt(document, claim)
  const named = new Set((Array.isArray(value) ? value : [value]).filter((one) => isGroup(one)))
  const mapped = admin.filter((group) => named.has(group))
  // Of too many, those with a role are kept.
  const groups = [...new Set([...mapped, ...named])].slice(0, maxGroups)
  return { groups, adminGroup: mapped[0] ?? null }
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
