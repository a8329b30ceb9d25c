import type { AccessChange, Account } from '../accounts/users/administration.ts'
import { countByIssuer, rebindIssuer } from '../accounts/users/identities.ts'
import { readPersonalData } from '../accounts/users/personal-data.ts'
import { printable, printableLines } from '../telemetry/printable.ts'
import { CommandFailure } from './command-failure.ts'
import { print, printTable } from './output.ts'
import { type CommandServices, withServices } from './services.ts'

/** Blocks a user, or lets one in again; all sessions and tokens end at once. */
export async function setBlocked(user: string, blocked: boolean): Promise<void> {
  const account = await change(user, { blocked })
  tellOf(account, { blocked }, `is ${blocked ? 'blocked' : 'unblocked'}`)
}

/** Gives a user another role; all sessions and tokens end, and the next sign-in has it. */
export async function setRole(user: string, role: 'user' | 'admin'): Promise<void> {
  const account = await change(user, { role })
  tellOf(account, { role: account.role }, `has the role ${account.role}`)
}

function tellOf({ id, name }: Account, state: object, sentence: string): void {
  print({ id, name, ...state }, `${id} (${printable(name ?? 'no name')}) ${sentence}\n`)
}

/** Deletes a user with identities, sessions, consents and tokens. */
export async function deleteUser(user: string): Promise<void> {
  await withUsers(async ({ administration, find }) => {
    const id = await find(user)
    if (!(await administration.delete(id, { actor: 'cli' }))) throw unknownUser(user)
    print({ id, deleted: true }, `${id} is deleted\n`)
  })
}

/** Writes all that is stored about a user as one JSON document, and notes that in the audit log. */
export async function exportUser(user: string): Promise<void> {
  await withUsers(async ({ database, record, find }) => {
    const id = await find(user)
    await database.transaction((tx) => record(tx, { action: 'user.exported', userId: id, actor: 'cli' }))
    const data = await readPersonalData(database.reader, id)
    print(data, `${printableLines(JSON.stringify(data, undefined, 2))}\n`)
  })
}

/** Lists where a user is signed in. */
export async function listSessions(user: string): Promise<void> {
  await withUsers(async ({ devices, find }) => {
    const list = await devices.list(await find(user), undefined)
    const rows = list.map(({ id, device, app, provider, address, createdAt, lastSeenAt }) => [
      id,
      app ?? device,
      provider,
      address,
      new Date(createdAt),
      new Date(lastSeenAt),
    ])
    printTable(['id', 'device', 'provider', 'address', 'signed in', 'last seen'], rows)
  })
}

/** Ends all sessions of a user, those of apps included, or one of them. */
export async function endSessions(user: string, sessionId: string | undefined): Promise<void> {
  await withUsers(async ({ devices, record, find }) => {
    const userId = await find(user)
    const entry = { action: 'session.revoked', userId, actor: 'cli' } as const
    if (sessionId === undefined) {
      let ended = 0
      await devices.revokeOthers(userId, undefined, async (tx, count) => {
        ended = count
        await record(tx, { ...entry, detail: { all: true, count } })
      })
      print({ user: userId, ended }, `${ended} ${ended === 1 ? 'session' : 'sessions'} of ${userId} ended\n`)
      return
    }
    const one = { ...entry, target: `session:${sessionId}` }
    if (!(await devices.revoke(userId, sessionId, (tx) => record(tx, one))))
      throw new CommandFailure(`there is no session ${sessionId} of ${userId}`)
    print({ user: userId, session: sessionId, ended: 1 }, `${sessionId} is ended\n`)
  })
}

/** Lists which issuers the identities of each provider are bound to. */
export async function listIssuers(): Promise<void> {
  await withUsers(async ({ database }) => {
    const rows = await countByIssuer(database)
    printTable(
      ['provider', 'issuer', 'identities'],
      rows.map(({ provider, issuer, count }) => [provider, issuer ?? '(not known yet)', count]),
    )
  })
}

/** Binds the identities of a provider to another issuer: for a server that really moved. */
export async function moveIssuer(provider: string, from: string, to: string): Promise<void> {
  await withUsers(async ({ database, record }) => {
    const moved = await rebindIssuer(database, { provider, from, to }, (tx, count) =>
      record(tx, { action: 'identity.issuer_moved', actor: 'cli', provider, detail: { from, to, count } }),
    )
    if (moved === 0)
      throw new CommandFailure(`no identity of ${provider} is bound to ${from}: see postern users issuers`)
    print(
      { provider, from, to, moved },
      `${moved} ${moved === 1 ? 'identity' : 'identities'} of ${provider} now bound to ${to}\n`,
    )
  })
}

async function change(user: string, what: AccessChange): Promise<Account> {
  return withUsers(async ({ administration, find }) => {
    const account = await administration.change(await find(user), what, {
      origin: { actor: 'cli' },
      // The database is at hand, and with it all rights.
      requireAdmin: () => undefined,
    })
    if (!account) throw unknownUser(user)
    return account
  })
}

function withUsers<T>(work: (tools: Awaited<ReturnType<typeof userTools>>) => Promise<T>): Promise<T> {
  return withServices(async (services) => work(await userTools(services)))
}

async function userTools({ database, record, accounts }: CommandServices) {
  const { devices, administration } = await accounts()
  /** The id of a user that is given by its id or as `provider:providerId`. @throws CommandFailure */
  const find = async (user: string): Promise<string> => {
    const id = await administration.resolve(user)
    if (id === undefined) throw unknownUser(user)
    return id
  }
  return { database, devices, administration, record, find }
}

function unknownUser(user: string): CommandFailure {
  return new CommandFailure(`there is no user ${user}: pass an ID or provider:providerId`)
}
