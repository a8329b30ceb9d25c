import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import { onEachEngine } from '#test/harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { importFile } from '../../src/listing/importing/import-file.ts'
import { counts, signIn, whoAmI } from './harness.ts'

onEachEngine('roles and imported users', (engine) => {
  let provider: OAuthProvider
  let service: TestService
  before(async () => {
    provider = await startOAuthProvider()
    service = await startTestService(engine, {
      env: {
        ...provider.env('ACME'),
        ...provider.env('OTHER'),
        ADMIN_IDENTITIES: 'acme:boss,other:boss-too',
      },
    })
  })
  after(async () => {
    await service.close()
    await provider.close()
  })

  async function signedIn(id: string, path = '/auth/acme'): Promise<Browser> {
    const browser = new Browser()
    provider.profile = { id, displayName: id }
    await signIn(service, browser, path)
    return browser
  }
  async function listed(name: string): Promise<string | undefined> {
    const answer = await service.admin('/users?limit=100')
    const { data } = (await answer.json()) as { data: { name: string; role: string }[] }
    return data.find((user) => user.name === name)?.role
  }

  test('GET /users shows the role that counts: by ADMIN_IDENTITIES, of any of the identities', async () => {
    await signedIn('boss')
    const browser = await signedIn('rises')
    assert.equal(await listed('boss'), 'admin')
    assert.equal(await listed('rises'), 'user')
    const before = browser.cookies(service.baseUrl).get('postern_session')
    const start = await browser.go(new URL('/auth/other/link', service.baseUrl), { method: 'POST' })
    provider.profile = { id: 'boss-too' }
    const back = await browser.go(start.headers.get('location')!)
    await browser.go(back.headers.get('location')!)
    const linked = browser.cookies(service.baseUrl).get('postern_session')
    assert.notEqual(linked, before, 'with the role the token is new')
    assert.equal((await whoAmI(service, browser))!.role, 'admin')
    assert.equal(await listed('rises'), 'admin')
    await browser.go(new URL('/auth/identities/other', service.baseUrl), { method: 'DELETE' })
    assert.notEqual(browser.cookies(service.baseUrl).get('postern_session'), linked, 'and without it too')
    assert.equal((await whoAmI(service, browser))!.role, 'user')
    assert.equal(await listed('rises'), 'user')
  })

  test('the first sign-in of an imported user finds that user', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postern-import-'))
    const file = join(folder, 'users.ndjson')
    const line = {
      email: 'old@example.com',
      name: 'From the file',
      provider: 'acme',
      providerId: 'imported-1',
    }
    await writeFile(file, `${JSON.stringify(line)}\n`)
    try {
      const { database } = service
      const import_ = { database, clock: systemClock, kind: 'users', file, format: 'ndjson' } as const
      const quiet = {
        signal: new AbortController().signal,
        onProgress: () => undefined,
        onFault: (line: number, why: string) => assert.fail(`${line}: ${why}`),
      }
      assert.equal((await importFile({ ...import_, ...quiet })).imported, 1)
      const before = await counts(service)
      const row = await database.reader
        .selectFrom('users')
        .select('id')
        .where('provider_id', '=', 'imported-1')
        .executeTakeFirstOrThrow()
      const browser = await signedIn('imported-1')
      const me = (await whoAmI(service, browser))!
      assert.equal(me.id, row.id)
      assert.equal(me.email, 'old@example.com', 'the record is used as it is')
      assert.deepEqual(await counts(service), { ...before, sessions: before.sessions + 1 })
      const { data } = (await (await service.admin(`/audit?userId=${me.id}`)).json()) as {
        data: { action: string }[]
      }
      assert.deepEqual(
        data.map(({ action }) => action),
        ['user.signed_in'],
        'no sign-up: the account was there',
      )
      // The same provider id at another provider is somebody else.
      assert.notEqual((await whoAmI(service, await signedIn('imported-1', '/auth/other')))!.id, me.id)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
