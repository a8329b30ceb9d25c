// The name of a provider is pointed at another server: what that one vouches for must not open the accounts of the first.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { childEnvironment } from '#test/harness/child-environment.ts'
import { Browser, each, onEachEngine, rowIn, type TestDatabase } from '#test/harness/index.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { accountsOf, assertFails, whoAmI } from '../login/harness.ts'
import { begin, beginLink, signInAs } from './harness.ts'
import { startHonestProvider, type HonestProvider } from './honest-provider.ts'
import { mainFile } from '../harness/main-file.ts'

onEachEngine('a provider whose issuer changes', (engine) => {
  for (const openid of [true, false]) describe(openid ? 'OpenID Connect' : 'OAuth 2.0', () => attack(openid))

  function attack(openid: boolean): void {
    let [first, second]: HonestProvider[] = []
    let database: TestDatabase
    let service: TestService | undefined
    before(async () => {
      first = await startHonestProvider({ openid })
      second = await startHonestProvider({ openid })
    })
    beforeEach(async () => {
      await service?.close()
      await database?.drop()
      database = await engine.createMigratedDatabase()
      service = undefined
    })
    after(async () => {
      await service?.close()
      await database.drop()
      await first!.close()
      await second!.close()
    })

    /** The service with ACME at this provider, on the same database. */
    async function at(provider: HonestProvider): Promise<TestService> {
      await service?.close()
      const env = { ...provider.env('ACME'), ...first!.env('OTHER'), ADMIN_IDENTITIES: 'acme:boss' }
      service = await startTestService(engine, { env, databaseUrl: database.url })
      return service
    }
    const postern = (...args: string[]) =>
      promisify(execFile)(process.execPath, [mainFile, ...args], {
        env: {
          ...childEnvironment(),
          DATABASE_URL: database.url,
          POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
          WEBHOOK_SECRET: 'x',
        },
      })

    test('the same id at another issuer is rejected, and nothing changes', async () => {
      assert.equal(await signInAs(await at(first!), new Browser(), first!, 'boss'), '/dashboard')
      const swapped = await at(second!)
      const browser = new Browser()
      const callback = second!.approve(await begin(swapped, browser), 'boss')
      await assertFails(swapped, browser, callback, 'issuer-changed')
      const entry = await rowIn(swapped, 'audit_log', { code: 'issuer-changed' })
      assert.equal(entry.action, 'sign_in.failed')
      assert.equal(entry.provider_id, 'boss')
      assert.ok(entry.user_id)
      // Somebody who is new there is a new account.
      assert.equal(await signInAs(swapped, new Browser(), second!, 'somebody'), '/dashboard')
      // And the first issuer goes on as before.
      const back = new Browser()
      assert.equal(await signInAs(await at(first!), back, first!, 'boss'), '/dashboard')
      assert.equal((await whoAmI(service!, back))!.role, 'admin')
    })

    test('the identity at another issuer cannot be linked', async () => {
      await signInAs(await at(first!), new Browser(), first!, 'victim')
      const swapped = await at(second!)
      const browser = new Browser()
      await signInAs(swapped, browser, first!, 'attacker', '/auth/other')
      const before = await accountsOf(swapped)
      const start = await beginLink(swapped, browser, '/auth/acme/link')
      const answer = await browser.go(second!.approve(start, 'victim'))
      assert.match(answer.headers.get('location')!, /error=issuer-changed/)
      assert.deepEqual(await accountsOf(swapped), before)
    })

    test('an old identity is bound at its next sign-in, and move-issuer rebinds identities', async () => {
      const started = await at(first!)
      const browser = new Browser()
      await signInAs(started, browser, first!, 'old')
      const { id } = (await whoAmI(started, browser))!
      await started.database.transaction((tx) => tx.updateTable('identities').set({ issuer: null }).execute())
      await signInAs(started, new Browser(), first!, 'old')
      const bound = await started.database.reader.selectFrom('identities').select('issuer').execute()
      assert.deepEqual(each(bound, 'issuer'), [first!.url])
      // The command knows no kinds of providers.
      if (!openid) return
      await started.close()
      service = undefined
      await assert.rejects(postern('users', 'move-issuer', 'acme', 'https://wrong.example', second!.url))
      const told = await postern('users', 'move-issuer', 'acme', first!.url, second!.url)
      assert.match(told.stdout, /^1 identity of acme now bound to /)
      assert.match((await postern('users', 'issuers')).stdout, new RegExp(`acme +${second!.url} +1`))
      const moved = await at(second!)
      const there = new Browser()
      await signInAs(moved, there, second!, 'old')
      assert.equal((await whoAmI(moved, there))!.id, id)
      const entry = await moved.database.reader
        .selectFrom('audit_log')
        .select(['actor', 'provider'])
        .where('action', '=', 'identity.issuer_moved')
        .executeTakeFirstOrThrow()
      assert.deepEqual({ ...entry }, { actor: 'cli', provider: 'acme' })
    })
  }
})
