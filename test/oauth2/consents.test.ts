import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Consents } from '../../src/oauth2/consent/consents.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, started } from '../harness/index.ts'

onEachEngine('consents', (engine) => {
  let consents: Consents
  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    consents = new Consents(database, systemClock)
  })

  async function user(id: string): Promise<string> {
    const row = { id, provider: 'acme', provider_id: id, role: 'user', created_at: 1 } as const
    await database.transaction((tx) => tx.insertInto('users').values(row).execute())
    return id
  }
  const grant = (userId: string, clientId: string, scope: string, resource: string | null = null) =>
    database.transaction((tx) => consents.grant(tx, { userId, clientId }, { scope, resource }))
  const covers = (userId: string, clientId: string, scope: string, resource: string | null = null) =>
    consents.covers(userId, clientId, { scope, resource })

  test('concurrent consents add up', async () => {
    const eve = await user('eve')
    const scopes = ['openid', 'email', 'profile', 'groups', 'offline_access']
    await Promise.all(scopes.map((scope) => grant(eve, 'forum', scope)))
    assert.equal(await covers(eve, 'forum', scopes.join(' ')), true)
  })
})
