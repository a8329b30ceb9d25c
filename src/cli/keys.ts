import { systemClock } from '../runtime/clock.ts'
import { isScope, scopes } from '../http/access/principal.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { isJson, print, printTable } from './output.ts'
import { withServices } from './services.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { reseal, type ResealOutcome, describeGroups } from '../storage/reseal.ts'
import { showProgress } from './progress.ts'
import { readKeyring, readSettings } from './settings.ts'
import { interruptible, recordCommand, withDatabase } from './database.ts'

interface CreateOptions {
  role?: string
  scope?: readonly string[]
  expires?: string
}

/** Makes a key and shows it, this once. */
export async function createKey(name: string, options: CreateOptions): Promise<void> {
  const granted = readGrant(options)
  const expiresAt = options.expires === undefined ? undefined : readEnd(options.expires, systemClock.now())
  await withServices(async ({ keys, applicationScopes }) => {
    const known = granted.every(isScope) ? [] : await applicationScopes()
    const unknown = granted.find((scope) => !isScope(scope) && !known.includes(scope))
    if (unknown !== undefined)
      throw new UsageFailure(
        `${unknown} is not a scope. ${advice} In rules of forwardAuth: ${known.join(', ') || 'none'}.`,
      )
    const { id, key } = await keys.create({ name, scopes: granted, expiresAt }, { actor: 'cli' })
    print({ id, key, scopes: granted }, `${key}\n`)
    if (!isJson())
      process.stderr.write(
        `Created key ${id} with the scopes ${granted.join(' ')}. Copy the key now: it is shown only once.\n`,
      )
  })
}

export async function listKeys(): Promise<void> {
  await withServices(async ({ keys }) => {
    const rows = (await keys.list()).map((key) => [
      key.id,
      key.name,
      key.scopes.split(' ').includes('admin') ? 'admin' : 'user',
      key.scopes,
      `${key.prefix}…`,
      new Date(key.created_at),
      day(key.expires_at),
      day(key.last_used_at),
      key.revoked_at === null ? '' : 'revoked',
    ])
    printTable(['id', 'name', 'role', 'scopes', 'begins', 'created', 'expires', 'last used', 'state'], rows)
  })
}

export async function revokeKey(id: string): Promise<void> {
  await withServices(async ({ keys }) => {
    if (!(await keys.revoke(id, { actor: 'cli' }))) throw new CommandFailure(`there is no valid key ${id}`)
    print({ id, revoked: true }, `${id} is revoked\n`)
  })
}

const advice = `Give it what it needs, such as \`--scope events:write\`, or everything with \`--role admin\`. Scopes: ${Object.keys(scopes).join(', ')}.`

/** The scopes that the options ask for, each once. The role user alone may read lists. */
function readGrant({ role, scope = [] }: CreateOptions): string[] {
  if (role !== undefined && role !== 'user' && role !== 'admin')
    throw new UsageFailure(`--role takes user or admin, not ${role}`)
  const named = scope.flatMap((text) => text.split(/[\s,]+/)).filter((text) => text !== '')
  const granted = new Set<string>(role === 'admin' ? ['admin'] : [])
  for (const text of named) for (const one of readScope(text)) granted.add(one)
  if (granted.size === 0 && role === 'user') granted.add('lists:read')
  if (granted.size === 0) throw new UsageFailure(`the key would have no scope. ${advice}`)
  return [...granted]
}

/** One scope, or `subscribers:*` and the like for all that begin so. */
function readScope(text: string): string[] {
  const prefix = text.endsWith(':*') ? text.slice(0, -1) : undefined
  const several = Object.keys(scopes).filter((one) => prefix !== undefined && one.startsWith(prefix))
  return several.length === 0 ? [text] : several
}

const units: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** `12h`, `90d`, `4w`, or a date. */
function readEnd(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? []
  const end = count && unit ? now + Number(count) * units[unit]! : Date.parse(text)
  if (!(end > now)) throw new UsageFailure(`--expires takes 12h, 90d, 4w or a future date, not ${text}`)
  return end
}

const day = (time: number | null): Date | null => (time === null ? null : new Date(time))

/** Makes the next key of access tokens. With `now` older keys are withdrawn at once: for when one has leaked. */
export async function rotateSigningKey({ now = false }: { now?: boolean }): Promise<void> {
  await withServices(async ({ signingKeys }) => {
    const { kid, activeAt } = await signingKeys().rotate(now ? 'now' : 'planned', { actor: 'cli' })
    print(
      { kid, activeAt: isoTime(activeAt) },
      now
        ? `${kid} signs from now on. Tokens that older keys signed are rejected; apps get new access tokens with their refresh tokens.\n`
        : `${kid} is published and signs from ${isoTime(activeAt)}. Tokens that older keys signed stay valid until they expire.\n`,
    )
  })
}

/**
 * Encrypts every sealed value of the database again, with the newest POSTERN_SECRET. Ctrl-C stops after the current batch.
 * Exit code: 0 when nothing needs an older secret any more, 130 when it was stopped before, else 1.
 */
export async function resealCommand(): Promise<void> {
  const configuration = readSettings()
  const keyring = readKeyring(configuration)
  await interruptible(({ signal }) =>
    withDatabase(configuration, async (database) => {
      const progress = showProgress(0, 'values resealed')
      const outcome = await reseal({
        database,
        keyring,
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
