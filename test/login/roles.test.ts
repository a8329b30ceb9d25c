import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { each, onEachEngine, rowsOf } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { importFile, targetOf } from '../../src/listing/importing/import-file.ts'
import { counts, whoAmI } from './harness.ts'
import { Site } from './site.ts'

onEachEngine('roles and imported users', (engine) => {
  const site = new Site(engine, { env: { ADMIN_IDENTITIES: 'acme:boss,other:boss-too' } })

  async function listed(name: string): Promise<string | undefined> {
    const answer = await site.service.admin('/users?limit=100')
    const { data } = (await answer.json()) as { data: { name: string; role: string }[] }
    return data.find((user) => user.name === name)?.role
  }

  test('GET /users shows the effective role, with ADMIN_IDENTITIES of all identities', async () => {
    await site.signedIn('boss')
    const browser = await site.signedIn('rises')
    assert.equal(await listed('boss'), 'admin')
    assert.equal(await listed('rises'), 'user')
    const before = browser.cookies(site.service.baseUrl).get('postern_session')
    await site.link(browser, 'boss-too')
    const linked = browser.cookies(site.service.baseUrl).get('postern_session')
    assert.notEqual(linked, before, 'with the role the token is new')
    assert.equal((await whoAmI(site.service, browser))!.role, 'admin')
    assert.equal(await listed('rises'), 'admin')
    await browser.go(new URL('/auth/identities/other', site.service.baseUrl), { method: 'DELETE' })
    assert.notEqual(
      browser.cookies(site.service.baseUrl).get('postern_session'),
      linked,
      'and without it too',
    )
    assert.equal((await whoAmI(site.service, browser))!.role, 'user')
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
      const { database } = site.service
      const import_ = {
        database,
        clock: systemClock,
        target: targetOf('users', database),
        file,
        format: 'ndjson',
      } as const
      const quiet = {
        signal: new AbortController().signal,
        onProgress: () => undefined,
        onFault: (line: number, why: string) => assert.fail(`${line}: ${why}`),
      }
      assert.equal((await importFile({ ...import_, ...quiet })).imported, 1)
      const before = await counts(site.service)
      const row = (await rowsOf({ database }, 'users', { provider_id: 'imported-1' }))[0]!
      const browser = await site.signedIn('imported-1')
      const me = (await whoAmI(site.service, browser))!
      assert.equal(me.id, row.id)
      assert.equal(me.email, 'old@example.com', 'the record is used as it is')
      assert.deepEqual(await counts(site.service), { ...before, sessions: before.sessions + 1 })
      const { data } = (await (
        await site.service.admin(`/audit?userId=${me.id}`)
      ).json()) as AnswerTo<'GET /audit'>
      assert.deepEqual(each(data, 'action'), ['user.signed_in'], 'no sign-up: the account was there')
      // The same provider id at another provider is somebody else.
      assert.notEqual(
        (await whoAmI(site.service, await site.signedIn('imported-1', '/auth/other')))!.id,
        me.id,
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
