import { Administration, type AccessChange, type Account } from '../accounts/administration.ts'
import { createRecordAudit } from '../accounts/audit.ts'
import { Devices } from '../accounts/devices.ts'
import { RefreshTokens } from '../accounts/refresh-tokens.ts'
import { Sessions } from '../accounts/sessions.ts'
import { systemClock } from '../clock.ts'
import { Problem } from '../errors.ts'
import { migrate } from '../storage/migrate.ts'
import { openDatabase } from '../storage/open.ts'
import { createLog } from '../telemetry/log.ts'
import { CommandFailure } from './command-failure.ts'
import { readSettings } from './settings.ts'

/** Blocks a user, or lets one in again; all sessions and tokens end at once. */
export async function setBlocked(user: string, blocked: boolean): Promise<void> {
  const { id, name } = await change(user, { blocked })
  process.stdout.write(`${id} (${name ?? 'no name'}) is ${blocked ? 'blocked' : 'let in again'}\n`)
}

/** Gives a user another role; all sessions and tokens end, and the next sign-in has it. */
export async function setRole(user: string, role: string): Promise<void> {
  if (role !== 'user' && role !== 'admin') throw new CommandFailure(`the role is user or admin, not ${role}`)
  const account = await change(user, { role })
  process.stdout.write(`${account.id} (${account.name ?? 'no name'}) has the role ${account.role}\n`)
}

/** @param user an id, or `provider:providerId`. */
async function change(user: string, what: AccessChange): Promise<Account> {
  const configuration = readSettings()
  const database = await openDatabase(configuration.databaseUrl)
  try {
    await migrate(database)
    const { adminIdentities: admins, sessionIdle: idle, sessionLifetime: lifetime } = configuration
    const record = createRecordAudit(systemClock)
    const common = { database, clock: systemClock, log: createLog('warn'), admins, record }
    const limits = { idle, lifetime }
    const devices = new Devices(
      database,
      new Sessions({ ...common, limits }),
      new RefreshTokens({ ...common, limits }),
    )
    const administration = new Administration({ ...common, devices, keepsAnAdmin: false })
    const id = await administration.resolve(user)
    const account = id === undefined ? undefined : await administration.change(id, what, { actor: 'cli' })
    if (!account) throw new CommandFailure(`there is no user ${user}: give an id or provider:providerId`)
    return account
  } catch (error) {
    if (error instanceof Problem) throw new CommandFailure(error.message)
    throw error
  } finally {
    await database.close()
  }
}
