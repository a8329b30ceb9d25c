import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import type { ProviderIdentity } from '../../src/accounts/users/identities.ts'
import { Users } from '../../src/accounts/users/users.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, rowsOf, started } from '../harness/index.ts'

/** Runs `meanwhile` once, when the statement with this number (from 1) was answered and the next one was not sent. */
function afterStatement(number: number, meanwhile: () => Promise<unknown>): KyselyPlugin {
  let answered = 0
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      answered += 1
      if (answered === number) await meanwhile()
      return result
    },
  }
}

onEachEngine('concurrent first sign-ins', (engine) => {
  let users: Users

  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    users = new Users({ database, clock: systemClock, admins: [] })
  })

  const identity = (providerId: string): ProviderIdentity => ({
    provider: 'acme',
    providerId,
    issuer: 'https://acme.example',
    email: 'ada@example.com',
    emailVerified: true,
    name: 'Ada',
    picture: null,
    claims: {},
    groups: [],
    adminGroup: null,
  })
  const signIn = (one: ProviderIdentity) => database.transaction((tx) => users.findOrCreate(tx, one))
  const usersWith = async ({ provider, providerId }: ProviderIdentity): Promise<string[]> =>
    (await rowsOf({ database }, 'users', { provider, provider_id: providerId })).map(({ id }) => id)

  // On SQLite a transaction holds the only write lock: no other one comes between its statements.
  const skip = engine.name === 'sqlite' && 'transactions take turns'

  for (const [number, statement] of [
    [1, 'the update that finds no identity'],
    [2, 'the look for its issuer'],
    [3, 'the insert of the user'],
  ] as const) {
    test(`another one that commits after ${statement} gives the same user for both`, { skip }, async () => {
      const one = identity(`after-${number}`)
      let other: Awaited<ReturnType<typeof signIn>> | undefined
      const found = await database.transaction((tx) => {
        const plugin = afterStatement(number, async () => (other = await signIn(one)))
        return users.findOrCreate(tx.withPlugin(plugin), one)
      })
      assert.equal(other?.created, true)
      assert.deepEqual(found, { userId: other.userId, created: false, blocked: false })
      assert.deepEqual(await usersWith(one), [other.userId])
    })
  }

  test('an identity that another user links and unlinks meanwhile gives a new user', { skip }, async () => {
    const one = identity('taken-and-gone')
    const link = async () => {
      await signIn(one)
    }
    const unlink = () =>
      database.transaction(async (tx) => {
        await tx.deleteFrom('identities').where('provider_id', '=', one.providerId).execute()
        await tx.deleteFrom('users').where('provider_id', '=', one.providerId).execute()
      })
    const found = await database.transaction((tx) =>
      users.findOrCreate(tx.withPlugin(afterStatement(3, link)).withPlugin(afterStatement(5, unlink)), one),
    )
    assert.equal(found.created, true)
    assert.deepEqual(await usersWith(one), [found.userId])
  })
})
