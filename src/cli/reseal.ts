import { systemClock } from '../runtime/clock.ts'
import { Keyring } from '../crypto/keyring.ts'
import { reseal, type ResealOutcome, describeGroups } from '../storage/reseal.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'
import { print } from './output.ts'
import { showProgress } from './progress.ts'
import { readSettings } from './settings.ts'
import { interruptible, recordCommand, withDatabase } from './database.ts'

/**
 * Seals every value of the database anew under the newest POSTERN_SECRET. Ctrl-C stops after the batch that is under way.
 * Exit code: 0 when nothing needs an older secret any more, 130 when it was stopped before, else 1.
 */
export async function resealCommand(): Promise<void> {
  const configuration = readSettings()
  const { masterSecrets } = configuration
  if (!masterSecrets)
    throw new CommandFailure('POSTERN_SECRET is missing, and no service has been started here in demo mode')
  await interruptible(({ signal }) =>
    withDatabase(configuration, async (database) => {
      const progress = showProgress(0, 'values resealed')
      const outcome = await reseal({
        database,
        keyring: new Keyring(masterSecrets),
        clock: systemClock,
        onProgress: (done, total) => progress.update(done, total),
        signal,
      }).finally(() => progress.stop())
      const values = [...outcome.done.values()].reduce((sum, count) => sum + count, 0)
      await recordCommand(database, { action: 'secrets.resealed', detail: { values } })
      const olderNeeded = needsOlder(outcome)
      print({ values, olderNeeded }, describe(outcome))
      if (olderNeeded) process.exitCode = (signal.aborted ? exitCodes.interrupted : exitCodes.failed).code
    }),
  )
}

/** Begun sign-ins end by themselves: whatever opens them is not needed for long. */
const needsOlder = ({ left }: ResealOutcome): boolean => left.some(({ column }) => !column.shortLived)

function describe(outcome: ResealOutcome): string {
  const { done, damaged, left } = outcome
  const lines = [...done]
    .filter(([, count]) => count > 0)
    .map(([{ table, column }, count]) => `  ${table}.${column}: ${count}`)
  const unknown = left.filter(({ openedBy }) => openedBy === 'unknown')
  const older = left.filter(({ openedBy }) => openedBy === 'older')
  for (const [{ table, column }, count] of damaged)
    lines.push(
      `${table}.${column}: ${count} cannot be decrypted because they were changed or moved: replace or delete these rows`,
    )
  if (unknown.length > 0)
    lines.push(
      `None of the secrets decrypts ${describeGroups(unknown)}. Append the missing secret to POSTERN_SECRET, and run this again.`,
    )
  if (older.length > 0)
    lines.push(`Older secrets are still needed for ${describeGroups(older)}. Run this again.`)
  if (!needsOlder(outcome))
    lines.push(
      'Nothing needs an older POSTERN_SECRET: remove it from the setting, and restart every process.',
    )
  return lines.map((line) => `${line}\n`).join('')
}
