import type { Keyring } from '../crypto/keyring.ts'
import type { Database } from './database.ts'
import { describeGroups, findSealedGroups } from './sealed-values.ts'

/** Values to count for each column and master key at most, so that the check takes milliseconds. */
const mostCounted = 1_000

interface SealedCheck {
  /** A message about values that none of the secrets opens; `undefined` if there are none. */
  unknown: string | undefined
  /** A message about values that need an older secret. */
  older: string | undefined
}

/** Finds sealed values that the newest POSTERN_SECRET does not open, except those of pending sign-ins, which end within minutes. */
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
      `POSTERN_SECRET does not open all sealed values of the database: ${unknown} were sealed with another secret. Append that secret after a comma; see "Rotating secrets" in the guide to operating`,
    older: older && `${older} need an older POSTERN_SECRET: run \`postern keys reseal\` before you remove it`,
  }
}
