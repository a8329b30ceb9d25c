import type { Keyring } from '../crypto/keyring.ts'
import type { Database } from './database.ts'
import { describeGroups, findSealedGroups } from './sealed-values.ts'

/** Values of a column and master key that are counted at most, so that the check takes milliseconds. */
const mostCounted = 1_000

export interface SealedCheck {
  /** What none of the given secrets opens, in words; `undefined` when there is nothing of that kind. */
  unknown: string | undefined
  /** What needs one of the older secrets, in words. */
  older: string | undefined
}

/**
 * What the database holds that the newest POSTERN_SECRET does not open. Begun sign-ins do not count: they end within
 * minutes.
 */
export async function checkSealedValues(database: Database, keyring: Keyring): Promise<SealedCheck> {
  const groups = (await findSealedGroups(database, keyring, mostCounted)).filter(
    ({ column }) => !column.shortLived,
  )
  const of = (wanted: 'older' | 'unknown'): string | undefined => {
    const found = groups.filter(({ openedBy }) => openedBy === wanted)
    return found.length === 0 ? undefined : describeGroups(found)
  }
  const [unknown, older] = [of('unknown'), of('older')]
  return {
    unknown:
      unknown &&
      `POSTERN_SECRET opens not all values that the database holds sealed: ${unknown} were sealed with another secret. Add that secret behind the others, separated by a comma; see "Rotating secrets" in docs/guides/operating.md`,
    older:
      older && `${older} need an older POSTERN_SECRET: run \`postern keys reseal\` before you take it away`,
  }
}
