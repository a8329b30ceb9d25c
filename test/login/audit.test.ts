import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { Browser, each, onEachEngine, rowsOf, tokens } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { Audit, createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { createLog, type Log } from '../../src/telemetry/log.ts'
import { upToCallback, whoAmI } from './harness.ts'
import { Site } from './site.ts'

type Entry = AnswerTo<'GET /audit'>['data'][number]
type Page = AnswerTo<'GET /audit'>

onEachEngine('the audit log', (engine) => {
  const site = new Site(engine)

  const read = async (query = ''): Promise<Page> => {
    const answer = await site.service.admin(`/audit${query}`)
    assert.equal(answer.status, 200, await answer.clone().text())
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    return (await answer.json()) as Page
  }
  const call = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, site.service.baseUrl), { method, headers: { 'user-agent': 'Test/1.0' } })

  test('the actions on an account, in order, with actor and address', async () => {
    const signIns = async (provider: string): Promise<string | undefined> => {
      const metrics = await (await site.service.admin('/metrics')).text()
      const sample = `postern_sign_ins_total{provider="${provider}",outcome="ok"} `
      return metrics.split('\n').find((line) => line.startsWith(sample))
    }
    const browser = await site.signedIn('life')
    const me = (await whoAmI(site.service, browser))!
    const start = await call(browser, 'POST', '/auth/other/link')
    site.provider.profile = { id: 'life-too' }
    const before = await signIns('other')
    await site.finish(browser, start)
    assert.equal(await signIns('other'), before, 'a link is not a sign-in')
    await call(browser, 'DELETE', '/auth/identities/other')
    const second = await site.signedIn('life')
    const sessions = (await (
      await call(browser, 'GET', '/auth/sessions')
    ).json()) as AnswerTo<'GET /auth/sessions'>
    const other = sessions.data.find(({ current }) => !current)!
    await call(browser, 'DELETE', `/auth/sessions/${other.id}`)
    assert.equal(await whoAmI(site.service, second), undefined)
    await call(browser, 'POST', '/auth/logout')
    const { data } = await read(`?userId=${me.id}`)
    assert.deepEqual(each(data, 'action').toReversed(), [
      'user.created',
      'user.signed_in',
      'identity.linked',
      'identity.unlinked',
      'user.signed_in',
      'session.revoked',
      'user.signed_out',
    ])
    for (const entry of data) {
      assert.equal(entry.actor, `user:${me.id}`, entry.action)
      assert.equal(entry.address, '127.0.0.1')
      assert.match(entry.supportId!, /^[\w-]{36}$/)
      assert.equal(entry.code, null)
    }
    const linked = data.find(({ action }) => action === 'identity.linked')!
    assert.equal(`${linked.provider}:${linked.providerId}`, 'other:life-too')
    assert.equal(data.find(({ action }) => action === 'session.revoked')!.target, `session:${other.id}`)
    assert.equal(data[0]!.userAgent, 'Test/1.0')
  })

  test('every kind of failure, with its code and support id', async () => {
    const failures: [code: string, change: (callback: URL) => void][] = [
      ['sign-in-expired', (url) => url.searchParams.set('state', 'x'.repeat(43))],
      [
        'access-denied',
        (url) => (url.searchParams.delete('code'), url.searchParams.set('error', 'access_denied')),
      ],
      ['provider-answer-invalid', (url) => url.searchParams.append('code', 'twice')],
      ['provider-answer-invalid', (url) => url.searchParams.delete('code')],
    ]
    for (const [code, change] of failures) {
      const browser = new Browser()
      const callback = await upToCallback(site.service, browser)
      change(callback)
      const location = new URL((await browser.go(callback)).headers.get('location')!, site.service.baseUrl)
      assert.equal(location.searchParams.get('error'), code)
      const [entry] = (await read('?limit=1')).data
      assert.equal(entry!.action, 'sign_in.failed')
      assert.equal(entry!.code, code)
      assert.equal(entry!.provider, 'acme')
      assert.equal(entry!.supportId?.slice(0, 8), location.searchParams.get('id'))
      assert.equal(entry!.userId, null)
    }
    const { data } = await read('?failed=true&limit=100')
    assert.ok(data.length >= failures.length && data.every(({ code }) => code !== null))
    assert.ok((await read('?failed=false&limit=100')).data.every(({ code }) => code === null))
  })

  test('no token, code or state is in it', async () => {
    const browser = new Browser()
    site.become('secrets')
    const callback = await upToCallback(site.service, browser)
    await browser.go(callback)
    const session = browser.cookies(site.service.baseUrl).get('postern_session')!
    const text = await (await site.service.admin('/audit?limit=100')).text()
    const secrets = [
      tokens.access,
      tokens.refresh,
      session,
      callback.searchParams.get('code')!,
      callback.searchParams.get('state')!,
    ]
    for (const secret of secrets) assert.ok(!text.includes(`"${secret}`) && !text.includes(`:${secret}`))
  })

  test('pages: newest first, each entry once, with a cursor that is bound to its filters', async () => {
    for (let count = 0; count < 3; count += 1) await site.signedIn('paged')
    const { data: all } = await read('?limit=100')
    const walked: Entry[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page: Page = await read(`?limit=4${query}`)
      assert.ok(page.data.length <= 4)
      walked.push(...page.data)
      cursor = page.pageInfo.nextCursor
    } while (cursor !== null)
    assert.deepEqual(each(walked, 'id'), each(all, 'id'))
    assert.deepEqual(each(all, 'at'), each(all, 'at').toSorted().toReversed())
    const { nextCursor } = (await read('?limit=1')).pageInfo
    for (const query of [`?failed=true&cursor=${nextCursor!}`, '?cursor=x', '?cursor=%00', '?since=soon']) {
      const refused = await site.service.admin(`/audit${query}`)
      assert.equal(refused.status, 400, query)
    }
    assert.equal((await site.service.admin('/audit?action=nonsense')).status, 400)
    assert.equal((await read('?limit=100000')).data.length, Math.min(100, all.length))
    const third = all[2]!
    const since = await read(`?since=${encodeURIComponent(third.at)}&limit=100`)
    assert.ok(since.data.every(({ at }) => at >= third.at) && since.data.some(({ id }) => id === third.id))
    const until = await read(`?until=${encodeURIComponent(third.at)}&limit=100`)
    assert.ok(until.data.every(({ at }) => at < third.at))
    assert.ok(
      (await read('?action=user.created&limit=100')).data.every((entry) => entry.action === 'user.created'),
    )
    assert.equal((await read('?provider=nobody')).data.length, 0)
  })

  test('filters by actor, target and address, and names instead of ids', async () => {
    const browser = await site.signedIn('named')
    const me = (await whoAmI(site.service, browser))!
    const made = await site.service.admin('/keys', {
      method: 'POST',
      json: { name: 'of the shop', scopes: ['operate'] },
    })
    const { id: keyId } = (await made.json()) as { id: string }
    const byMe = (await read(`?actor=user:${me.id}`)).data
    assert.deepEqual(byMe.map(({ action }) => action).toReversed(), ['user.created', 'user.signed_in'])
    for (const entry of byMe) assert.deepEqual([entry.userName, entry.actorName], [me.name, me.name])
    const [ofKey, ...others] = (await read(`?target=key:${keyId}`)).data
    assert.deepEqual(others, [])
    assert.deepEqual(
      [ofKey!.action, ofKey!.targetName, ofKey!.userName],
      ['key.created', 'of the shop', null],
    )
    const json = { url: 'https://hooks.example/secret-in-the-path' }
    const subscriber = (await (
      await site.service.admin('/subscribers', { method: 'POST', json })
    ).json()) as { id: string }
    const [ofSubscriber] = (await read(`?target=subscriber:${subscriber.id}`)).data
    assert.equal(ofSubscriber!.targetName, 'hooks.example', 'without what may be a credential')
    await site.service.database.transaction((tx) =>
      createRecordAudit(systemClock)(tx, { action: 'sign_in.failed', code: 'x', address: '192.0.2.77' }),
    )
    const from = await read('?address=192.0.2.77')
    assert.deepEqual(each(from.data, 'address'), ['192.0.2.77'])
    const { nextCursor } = (await read('?actor=cli&limit=1')).pageInfo
    assert.equal(nextCursor, null)
    const { supportId } = byMe[0]!
    const reference = supportId!.slice(0, 8)
    const ofRequest = (await read(`?supportId=${reference}`)).data
    assert.ok(ofRequest.length > 0 && ofRequest.every((entry) => entry.supportId === supportId))
    // As a person types it.
    assert.deepEqual((await read(`?supportId=%20${reference.toUpperCase()}`)).data, ofRequest)
    assert.deepEqual((await read(`?supportId=${supportId}`)).data, ofRequest)
    for (const none of [`${reference}-0000`, reference.slice(0, 7), '%25', '________'])
      assert.deepEqual((await read(`?supportId=${none}`)).data, [], none)
    const paged = await read('?address=127.0.0.1&limit=1')
    const other = await site.service.admin(`/audit?address=192.0.2.77&cursor=${paged.pageInfo.nextCursor!}`)
    assert.equal(other.status, 400)
  })

  test('each filter reads by an index', async () => {
    const conditions = {
      actor: "actor = 'x'",
      target: "target = 'x'",
      address: "address = 'x'",
      reference: "support_id is not null and substr(support_id, 1, 8) = 'x'",
      failures: 'code is not null',
    }
    for (const [index, condition] of Object.entries(conditions)) {
      const select = sql`select * from audit_log where ${sql.raw(condition)} order by created_at desc, id desc limit 21`
      const { reader } = site.service.database
      const plan = await site.service.database.transaction(async (tx) => {
        if (engine.name === 'postgres') await sql`set local enable_seqscan = off`.execute(tx)
        const explain = engine.name === 'postgres' ? sql`explain ` : sql`explain query plan `
        return JSON.stringify(
          (await sql`${explain}${select}`.execute(engine.name === 'postgres' ? tx : reader)).rows,
        )
      })
      assert.match(plan, new RegExp(`audit_of_${index}`), plan)
      assert.doesNotMatch(plan, /TEMP B-TREE|Sort /)
    }
  })

  test('admins read all entries, users those of their account, others none', async () => {
    assert.equal((await site.service.fetch('/audit')).status, 401)
    assert.equal((await site.service.fetch('/auth/audit')).status, 401)
    const [browser, stranger] = [await site.signedIn('own'), await site.signedIn('stranger')]
    assert.equal((await call(browser, 'GET', '/audit')).status, 403)
    const me = (await whoAmI(site.service, browser))!
    const them = (await whoAmI(site.service, stranger))!
    const own = async (query = '') =>
      (await (await call(browser, 'GET', `/auth/audit${query}`)).json()) as AnswerTo<'GET /auth/audit'>
    const { data } = await own(`?userId=${them.id}`)
    assert.deepEqual(each(data, 'action').toReversed(), ['user.created', 'user.signed_in', 'call.forbidden'])
    assert.ok(data.every((entry) => entry.byMe && !('userId' in entry) && !('actor' in entry)))
    // What an admin does to the account is shown; where the admin sits is not.
    await site.service.database.transaction((tx) =>
      createRecordAudit(systemClock)(tx, {
        action: 'user.role_changed',
        userId: me.id,
        actor: 'user:somebody',
        address: '192.0.2.1',
        userAgent: "an admin's browser",
        detail: { from: 'user', to: 'admin' },
      }),
    )
    const [newest] = (await own('?limit=1')).data
    assert.deepEqual(
      [newest!.action, newest!.byMe, newest!.address, newest!.userAgent],
      ['user.role_changed', false, null, null],
    )
  })

  test('API keys: creation and revocation, in the same transaction', async () => {
    const keys = new ApiKeys(site.service.database, systemClock, createRecordAudit(systemClock))
    const { id, key } = await keys.create({ name: 'ci', scopes: ['events:write'] }, { actor: 'cli' })
    await keys.revoke(id, { actor: 'cli' })
    const [revoked, created] = (await read('?limit=2')).data
    assert.deepEqual(
      [created!.action, created!.target, created!.actor, created!.detail],
      ['key.created', `key:${id}`, 'cli', { name: 'ci', scopes: 'events:write' }],
    )
    assert.equal(revoked!.action, 'key.revoked')
    assert.ok(!JSON.stringify([revoked, created]).includes(key))
    const failing = new ApiKeys(site.service.database, systemClock, async () => {
      throw new Error('the log cannot be written')
    })
    const before = (await keys.list()).length
    await assert.rejects(failing.create({ name: 'unlogged', scopes: ['admin'] }, {}))
    assert.equal((await keys.list()).length, before, 'what cannot be written down does not happen')
  })

  test('a key works although its last use cannot be written, which is logged', async () => {
    const { database } = site.service
    const { id, key } = await new ApiKeys(database, systemClock, createRecordAudit(systemClock)).create(
      { name: 'used', scopes: ['events:read'] },
      {},
    )
    const full = new Error('the disk is full')
    const unwritable = { reader: database.reader, inBackground: () => Promise.reject(full) }
    const told: unknown[] = []
    const keys = new ApiKeys(unwritable as unknown as Database, systemClock, createRecordAudit(systemClock), {
      log: { warn: (line: object) => told.push(line) } as Pick<Log, 'warn'>,
    })
    assert.equal((await keys.authenticate(key)).role, 'user')
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(told, [{ err: full, keyId: id }])
  })

  test('old entries are removed, and failures without a user earlier', async () => {
    const day = 86_400_000
    let now = Date.now() - 400 * day
    const clock = { ...systemClock, now: () => now }
    const { database } = site.service
    const audit = new Audit({ database, clock, log: createLog('silent'), retention: 365 * day })
    const add = (entry: Parameters<Audit['note']>[0]): Promise<void> =>
      audit.note({ ...entry, target: 'sweep' })
    await add({ action: 'user.signed_in' })
    now = Date.now() - 31 * day
    await add({ action: 'sign_in.failed', code: 'access-denied' })
    await add({ action: 'sign_in.failed', code: 'account-blocked', userId: 'somebody' })
    now = Date.now() - 29 * day
    for (let count = 0; count < 3; count += 1)
      await add({ action: 'sign_in.failed', code: 'sign-in-expired' })
    await audit.sweep(Date.now())
    const left = await rowsOf({ database }, 'audit_log', { target: 'sweep' }, 'id')
    assert.deepEqual(left.map(({ code }) => String(code)).toSorted(), [
      'account-blocked',
      ...Array.from({ length: 3 }, () => 'sign-in-expired'),
    ])
  })
})
