// A deletion removes the app first and its sign-ins in steps; sign-outs and notices go on meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SigningKeys } from '../../src/accounts/tokens/signing-keys.ts'
import { forgetClient, keepLogouts } from '../../src/oauth2/clients/client-management.ts'
import { type Client, clientOf } from '../../src/oauth2/clients/client.ts'
import type { Clients } from '../../src/oauth2/clients/clients.ts'
import { BackchannelLogouts } from '../../src/oauth2/logout/backchannel-logouts.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { until } from '../emitting/harness.ts'
import { onEachEngine, started, startReceiver } from '../harness/index.ts'
import { clockWith } from '../harness/manual-clock.ts'

const log = { warn: () => undefined }

onEachEngine('back-channel logout of an app that is deleted', (engine) => {
  let shift = 0
  const clock = { ...clockWith({ 1_000: 5 }), now: () => Date.now() + shift }
  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  const receiver = started(() => startReceiver(200))

  const appOf = (id: string): Client =>
    clientOf({ id, redirectUris: ['https://app.example/cb'], backchannelLogoutUri: receiver.url })
  /** A notice as a sign-out inserts it. */
  async function signOut(clientId: string): Promise<void> {
    const user = { id: clientId, provider: 'acme', provider_id: clientId, role: 'user' } as const
    const notice = { family_id: `of-${clientId}`, user_id: user.id, client_id: clientId }
    const times = { due_at: clock.now(), claimed_until: null, created_at: clock.now() }
    await database.transaction(async (tx) => {
      await tx
        .insertInto('users')
        .values({ ...user, created_at: 1 })
        .execute()
      await tx
        .insertInto('backchannel_logouts')
        .values({ ...notice, ...times })
        .execute()
    })
  }
  const waiting = () => database.reader.selectFrom('backchannel_logouts').selectAll().execute()
  /** A worker that finds no app. @param meanwhile runs between the claim of a notice and the search for its app */
  function workerWithoutApps(meanwhile: () => Promise<unknown>): BackchannelLogouts {
    const find = async (): Promise<undefined> => void (await meanwhile())
    return new BackchannelLogouts({
      clients: { find } as unknown as Clients,
      keys: { sign: async () => 'token' } as unknown as SigningKeys,
      database,
      clock,
      log: log as never,
      record: async () => undefined,
      allowPrivateNetwork: true,
      baseUrl: () => 'https://gate.example.com',
    })
  }
  /** Runs a worker until no notice is left, without the time between attempts. Returns the number of attempts. */
  async function runToTheEnd(worker: BackchannelLogouts): Promise<number> {
    let attempts = 0
    worker.start()
    const isOver = async (): Promise<boolean> => {
      const [row] = await waiting()
      if (row !== undefined && row.claimed_until === null && row.due_at > clock.now()) {
        attempts = row.attempts
        shift += row.due_at - clock.now()
      }
      return row === undefined
    }
    try {
      await until(isOver, 'no notice is left')
    } finally {
      await worker.stop(AbortSignal.timeout(5_000))
    }
    return attempts + 1
  }

  test('a notice that is claimed at that moment reaches the app at the next attempt', async () => {
    const before = receiver.calls.length
    await signOut('claimed')
    const deletion = () => database.transaction((tx) => keepLogouts(tx, appOf('claimed')))
    assert.equal(await runToTheEnd(workerWithoutApps(deletion)), 2)
    assert.equal(receiver.calls.length, before + 1)
  })

  test('a sign-out between the deletion and its last step reaches the app, too', async () => {
    const before = receiver.calls.length
    await signOut('late')
    await forgetClient(database, appOf('late'), clock.now())
    await runToTheEnd(workerWithoutApps(async () => undefined))
    assert.equal(receiver.calls.length, before + 1)
  })

  test('a deletion writes only the notices that have no address yet', async () => {
    const app = appOf('many')
    await signOut(app.id)
    await database.transaction((tx) => keepLogouts(tx, app))
    const [first] = await waiting()
    assert.equal(first?.uri, receiver.url)
    await database.transaction((tx) =>
      keepLogouts(tx, { ...app, backchannelLogoutUri: 'https://again.example' }),
    )
    const [second] = await waiting()
    assert.equal(second?.uri, receiver.url)
    await database.transaction((tx) => tx.deleteFrom('backchannel_logouts').execute())
  })

  test('a notice of an app that left the configuration is given up after five attempts', async () => {
    const [begun, before] = [clock.now(), receiver.calls.length]
    await signOut('gone')
    assert.equal(await runToTheEnd(workerWithoutApps(async () => undefined)), 5)
    assert.equal(receiver.calls.length, before)
    assert.ok(clock.now() - begun < 15 * 60_000)
  })
})
