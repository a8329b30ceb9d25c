import { createRecordAudit } from '../accounts/audit/audit.ts'
import { SigningKeys } from '../accounts/tokens/signing-keys.ts'
import { systemClock } from '../runtime/clock.ts'
import { Keyring } from '../crypto/keyring.ts'
import { CommandFailure } from './command-failure.ts'
import { print } from './output.ts'
import { readSettings } from './settings.ts'
import { withDatabase } from './database.ts'
import { isoTime } from '../runtime/iso-time.ts'

/** Makes the next key of access tokens. With `now` older keys are withdrawn at once: for when one has leaked. */
export async function rotateSigningKey({ now = false }: { now?: boolean }): Promise<void> {
  const configuration = readSettings()
  const { masterSecrets, signingKeyRotation: rotation } = configuration
  if (!masterSecrets)
    throw new CommandFailure('POSTERN_SECRET is missing, and no service was ever started here in demo mode')
  await withDatabase(configuration, async (database) => {
    const keyring = new Keyring(masterSecrets)
    const record = createRecordAudit(systemClock)
    const keys = new SigningKeys({ database, keyring, clock: systemClock, rotation, record })
    const { kid, activeAt } = await keys.rotation.rotate(now ? 'now' : 'planned', { actor: 'cli' })
    print(
      { kid, activeAt: isoTime(activeAt) },
      now
        ? `${kid} signs from now on. What older keys signed is refused; apps get new access tokens by their refresh tokens.\n`
        : `${kid} is published and signs from ${isoTime(activeAt)}. What older keys signed stays good until it has expired.\n`,
    )
  })
}
