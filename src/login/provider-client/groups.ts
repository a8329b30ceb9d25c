import { isStorableText } from '../../storage/sql-text.ts'
import { isObject, type ProfileDocument } from './profile.ts'
import type { GroupSource, Quirks } from '../providers/preset.ts'

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
