import { existsSync } from 'node:fs'
import type { Configuration } from '../../config/environment.ts'
import { withKeptSecrets } from '../../config/generated-secrets.ts'
import { Keyring } from '../../crypto/keyring.ts'
import type { Database } from '../../storage/database.ts'
import { isUpToDate } from '../../storage/migrate.ts'
import { openDatabase } from '../../storage/open.ts'
import { checkSealedValues } from '../../storage/sealed-check.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

type Given = Partial<
  Pick<Configuration, 'production' | 'databaseUrl' | 'databaseSessionUrl' | 'masterSecrets'>
>

/** Whether the given secrets open what the database holds sealed, and what still needs an older one. */
export async function* checkSealed({
  databaseUrl,
  databaseSessionUrl,
  ...given
}: Given): AsyncGenerator<Finding> {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(databaseUrl ?? '')?.[1]
  if (databaseUrl === undefined || (file !== undefined && !existsSync(file))) return
  const { masterSecrets } = withKeptSecrets({ databaseUrl, ...given })
  if (!masterSecrets) return
  let database: Database | undefined
  try {
    database = await openDatabase({ databaseUrl, databaseSessionUrl })
    // Otherwise it may lack what is asked for. The check of the database reports that.
    if (!(await isUpToDate(database))) return
    const { unknown, older } = await checkSealedValues(database, new Keyring(masterSecrets))
    if (unknown !== undefined) yield fault('sealed values', unknown)
    if (older !== undefined) yield warning('sealed values', older)
    if (unknown === undefined && older === undefined)
      yield ok('sealed values', 'the newest POSTERN_SECRET opens all of them')
  } catch (error) {
    // The check of the database reports that it does not answer.
    if (!(error instanceof StorageUnavailable)) throw error
  } finally {
    await database?.close()
  }
}
