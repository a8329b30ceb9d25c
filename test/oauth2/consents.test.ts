import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Consents } from '../../src/oauth2/consent/consents.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine } from '../harness/engines.ts'
import { started } from '../harness/started.ts'

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

  test('a consent covers its scopes, and further ones after another consent', async () => {
    const [ada, bob] = [await user('ada'), await user('bob')]
    assert.equal(await covers(ada, 'forum', ''), false)
    await grant(ada, 'forum', 'openid email')
    assert.equal(await covers(ada, 'forum', 'email openid'), true)
    assert.equal(await covers(ada, 'forum', 'openid profile'), false)
    assert.equal(await covers(ada, 'other', 'openid'), false)
    assert.equal(await covers(bob, 'forum', 'openid'), false)
    await grant(ada, 'forum', 'profile openid')
    assert.equal(await covers(ada, 'forum', 'openid email profile'), true)
    const [listed] = await consents.list(ada)
    assert.equal(listed?.scope, 'email openid profile')
  })

  test('a consent covers its APIs, and no others', async () => {
    const zoe = await user('zoe')
    await grant(zoe, 'forum', 'openid', 'https://a.example')
    assert.equal(await covers(zoe, 'forum', 'openid', 'https://a.example'), true)
    assert.equal(await covers(zoe, 'forum', 'openid', 'https://b.example'), false)
    assert.equal(await covers(zoe, 'forum', 'openid https://a.example'), false)
    await grant(zoe, 'forum', 'openid', 'https://b.example')
    assert.equal(await covers(zoe, 'forum', 'openid', 'https://a.example https://b.example'), true)
  })

  test('concurrent consents add up', async () => {
    const eve = await user('eve')
    const scopes = ['openid', 'email', 'profile', 'groups', 'offline_access']
    await Promise.all(scopes.map((scope) => grant(eve, 'forum', scope)))
    assert.equal(await covers(eve, 'forum', scopes.join(' ')), true)
  })

  test('a revoked consent covers nothing', async () => {
    const mia = await user('mia')
    await grant(mia, 'forum', 'openid')
    assert.equal(await database.transaction((tx) => consents.revoke(tx, mia, 'forum')), true)
    assert.equal(await covers(mia, 'forum', 'openid'), false)
    assert.equal(await database.transaction((tx) => consents.revoke(tx, mia, 'forum')), false)
  })
})
