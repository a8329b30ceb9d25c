import { withKeptSecrets } from '../../config/generated-secrets.ts'
import { Keyring } from '../../crypto/keyring.ts'
import type { Database } from '../../storage/database.ts'
import { checkSealedValues } from '../../storage/sealed-check.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

/** Whether the given secrets open what the database holds sealed, and what still needs an older one. */
export async function* checkSealed(
  database: Database,
  given: Parameters<typeof withKeptSecrets>[0],
): AsyncGenerator<Finding> {
  const { masterSecrets } = withKeptSecrets(given)
  if (!masterSecrets) return
  const { unknown, older } = await checkSealedValues(database, new Keyring(masterSecrets))
  if (unknown !== undefined) yield fault('sealed values', unknown)
  if (older !== undefined) yield warning('sealed values', older)
  if (unknown === undefined && older === undefined)
    yield ok('sealed values', 'the newest POSTERN_SECRET opens all of them')
}
