import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { SigningKeys } from '../../src/accounts/tokens/signing-keys.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { TestService } from '../harness/service.ts'

/** What `postern keys rotate-signing --now` does. @param ahead milliseconds by which the clock of the operator is ahead */
export async function withdrawKeys({ database }: Pick<TestService, 'database'>, ahead = 0): Promise<void> {
  const keys = new SigningKeys({
    database,
    keyring: new Keyring(['test-master-secret-of-32-bytes-or-more']),
    clock: { ...systemClock, now: () => systemClock.now() + ahead },
    rotation: 90 * 86_400_000,
    record: createRecordAudit(systemClock),
  })
  await keys.rotate('now', { actor: 'cli' })
}
