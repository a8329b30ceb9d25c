// The portal: an owner manages what is their own, and nothing else, by whatever way they try.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { adminKey, onEachEngine, started, startReceiver, each } from '../harness/index.ts'
import { enterPortal as enter, makeLink, openLink } from './portal-harness.ts'
import { change, deliveries, emit, expectJson, settled, startEmitting, subscribe, until } from './harness.ts'

const url = 'http://127.0.0.1:9/'

onEachEngine('portal', (engine) => {
  const service = started(() => startEmitting(engine))

  test('an owner registers, sees, changes, tests, rotates, replays and removes their own subscribers', async () => {
    await using receiver = await startReceiver(500, 500, 204)
    const acme = await enter(service, 'acme')
    const made = await acme.json<{ id: string; secret: string; owner: string }>(201, 'POST', '/subscribers', {
      url: receiver.url,
      eventTypes: ['order.*'],
      conditions: [{ path: '/n', op: 'gt', value: 0 }],
    })
    assert.equal(made.owner, 'acme')
    await emit(service, { type: 'order.paid', data: { n: 1 }, audience: 'acme' })
    const dead = await settled(service, made.id, 'dead')
    const log = await acme.json<{ data: { id: number }[] }>(200, 'GET', `/subscribers/${made.id}/deliveries`)
    assert.deepEqual(each(log.data, 'id'), [dead.id])
    const detail = await acme.json<{ attempts: unknown[] }>(200, 'GET', `/deliveries/${dead.id}`)
    assert.equal(detail.attempts.length, 2)
    const { total } = await acme.json<{ total: number }>(200, 'POST', `/subscribers/${made.id}/replay`, {
      dryRun: true,
    })
    assert.equal(total, 1)
    const job = await acme.json<{ id: string }>(202, 'POST', `/subscribers/${made.id}/replay`)
    await until(
      async () => (await acme.json<{ status: string }>(200, 'GET', `/jobs/${job.id}`)).status === 'done',
      'the replay is done',
    )
    await receiver.waitFor(3)
    await acme.json(202, 'POST', `/deliveries/${dead.id}/replay`)
    const rotated = await acme.json<{ secret: string }>(200, 'POST', `/subscribers/${made.id}/rotate-secret`)
    assert.notEqual(rotated.secret, made.secret)
    await acme.json(202, 'POST', `/subscribers/${made.id}/test`)
    await acme.json(200, 'PATCH', `/subscribers/${made.id}`, { status: 'paused', description: 'mine' })
    const list = await acme.json<{ data: { description: string }[] }>(200, 'GET', '/subscribers')
    assert.deepEqual(each(list.data, 'description'), ['mine'])
    await acme.json(204, 'DELETE', `/subscribers/${made.id}`)
    await acme.json(404, 'GET', `/subscribers/${made.id}`)
  })

  test('subscribers of another owner, or without one, are 404', async () => {
    const acme = await enter(service, 'acme')
    const foreign = await Promise.all([
      subscribe(service, { url, owner: 'globex' }),
      subscribe(service, { url }),
      subscribe(service, { url, operational: true }),
      // Beside each other in every order of texts.
      subscribe(service, { url, owner: 'ACME' }),
      subscribe(service, { url, owner: 'acme2' }),
    ])
    await emit(service, { type: 'a', data: 1, audience: '*' })
    const jobs = await Promise.all(
      foreign.map(({ id }) =>
        expectJson<{
          id: string
        }>(service, 202, `/subscribers/${id}/replay`, { method: 'POST' }),
      ),
    )
    const { data } = await acme.json<{ data: unknown[] }>(200, 'GET', '/subscribers')
    assert.deepEqual(data, [])
    assert.deepEqual((await acme.json<{ data: unknown[] }>(200, 'GET', '/subscribers?owner=globex')).data, [])
    for (const [index, { id }] of foreign.entries()) {
      const log = await deliveries(service, id)
      const calls: [method: string, path: string, json?: unknown][] = [
        ['GET', `/subscribers/${id}`],
        ['PATCH', `/subscribers/${id}`, { url }],
        ['DELETE', `/subscribers/${id}`],
        ['POST', `/subscribers/${id}/rotate-secret`],
        ['POST', `/subscribers/${id}/test`],
        ['POST', `/subscribers/${id}/replay`, { dryRun: true }],
        ['POST', `/subscribers/${id}/replay`],
        ['GET', `/subscribers/${id}/deliveries`],
        ['GET', `/jobs/${jobs[index]!.id}`],
        ['DELETE', `/jobs/${jobs[index]!.id}`],
        ...log.flatMap((delivery): [string, string][] => [
          ['GET', `/deliveries/${delivery.id}`],
          ['POST', `/deliveries/${delivery.id}/replay`],
        ]),
      ]
      for (const [method, path, json] of calls) await acme.json(404, method, path, json)
    }
    // Nothing of it was changed.
    for (const { id, url: before } of foreign) {
      const now = await expectJson<{ url: string; updatedAt: string }>(service, 200, `/subscribers/${id}`)
      assert.equal(now.url, before)
    }
  })

  test('owners cannot change the owner, or set what only admins may', async () => {
    const acme = await enter(service, 'acme')
    const { id } = await acme.json<{ id: string }>(201, 'POST', '/subscribers', { url })
    const forbidden = [
      { owner: 'globex' },
      { owner: null },
      { operational: true },
      { retrySchedule: [0] },
      { timeout: 300 },
      { concurrency: 100 },
    ]
    for (const more of forbidden) {
      await acme.json(400, 'POST', '/subscribers', { url, ...more })
      await acme.json(400, 'PATCH', `/subscribers/${id}`, more)
    }
    await change(service, id, { status: 'disabled' })
    await acme.json(403, 'PATCH', `/subscribers/${id}`, { status: 'active' })
    await acme.json(403, 'PATCH', `/subscribers/${id}`, { status: 'paused' })
    await acme.json(200, 'PATCH', `/subscribers/${id}`, { description: 'still disabled' })
    await change(service, id, { status: 'active' })
    await acme.json(200, 'PATCH', `/subscribers/${id}`, { status: 'disabled' })
    await acme.json(200, 'PATCH', `/subscribers/${id}`, { status: 'active' })
  })

  test('the portal cookie is accepted by the portal only, which accepts no other credential', async () => {
    const acme = await enter(service, 'acme')
    const elsewhere: [method: string, path: string][] = [
      ['GET', '/subscribers'],
      ['POST', '/subscribers'],
      ['POST', '/events'],
      ['GET', '/audit'],
      ['PATCH', '/users/00000000-0000-7000-8000-000000000000'],
      ['GET', '/auth/session'],
      ['POST', '/portal-links'],
      ['DELETE', '/portal-links?owner=acme'],
    ]
    const session = acme.cookie.replace('postern_portal', 'postern_session')
    for (const [method, path] of elsewhere) {
      for (const cookie of [acme.cookie, session, `${acme.cookie}; ${session}`]) {
        const response = await service.fetch(path, { method, headers: { cookie } })
        assert.equal(response.status, 401, `${method} ${path}`)
      }
    }
    const asKey = acme.cookie.split('=')[1]!
    for (const headers of [
      { authorization: `Bearer ${adminKey}` },
      { authorization: `Bearer ${asKey}` },
      { cookie: `postern_portal=${'a'.repeat(43)}` },
      { cookie: `postern_portal=${adminKey}` },
      {},
    ]) {
      for (const path of ['/portal/subscribers', '/portal/session'])
        assert.equal((await service.fetch(path, { headers: headers as Record<string, string> })).status, 401)
    }
    // With both, what is called decides which counts.
    const both = { cookie: acme.cookie, authorization: `Bearer ${adminKey}` }
    const own = await service.fetch('/portal/subscribers', { headers: both })
    assert.equal(own.status, 200)
  })

  test('a link works once, until it expires; of twenty concurrent uses one succeeds', async () => {
    let shift = 0
    const clock = { ...systemClock, now: () => Date.now() + shift }
    await using service = await startEmitting(engine, { parts: { clock } })
    const link = await makeLink(service, 'acme')
    assert.match(link, /^http:\/\/[^/]+\/portal#[\w-]{43}$/)
    const answers = await Promise.all(Array.from({ length: 20 }, () => openLink(service, link)))
    assert.deepEqual(
      each(answers, 'status').toSorted((a, b) => a - b),
      [200, ...Array.from({ length: 19 }, () => 401)],
    )
    assert.equal((await openLink(service, link)).status, 401)
    for (const token of ['', 'x', 'a'.repeat(43), "' or 1=1 --".padEnd(43, 'a')])
      assert.notEqual((await openLink(service, `#${token}`)).status, 200)

    const late = await makeLink(service, 'acme', { expiresIn: 60 })
    shift = 60_000
    assert.equal((await openLink(service, late)).status, 401)

    const session = await enter(service, 'acme', { sessionSeconds: 60 })
    await session.json(200, 'GET', '/subscribers')
    shift = 120_001
    await session.json(401, 'GET', '/subscribers')
    // What has ended is removed with the next link.
    await makeLink(service, 'other')
    const left = await service.database.reader.selectFrom('portal_sessions').select('owner').execute()
    assert.equal(left.length, 1, 'of the first link, which lasts an hour')
  })

  test('a link of another owner replaces a session only on request, and ends it', async () => {
    const acme = await enter(service, 'acme')
    const link = await makeLink(service, 'globex')
    const json = { token: link.split('#')[1] }
    const refused = await acme.call('POST', '/session', json)
    assert.equal(refused.status, 409)
    assert.equal(refused.headers.getSetCookie().length, 0)
    const problem = (await refused.json()) as { code: string; detail: string }
    assert.equal(problem.code, 'other-portal-session')
    assert.match(problem.detail, /signed in as acme.*portal of globex/)
    assert.equal((await acme.json<{ owner: string }>(200, 'GET', '/session')).owner, 'acme')
    await acme.json(400, 'POST', '/session', { ...json, replace: 'yes' })
    const opened = await acme.call('POST', '/session', { ...json, replace: true })
    assert.equal(opened.status, 200, 'the link was not spent')
    assert.equal(((await opened.json()) as { owner: string }).owner, 'globex')
    await acme.json(401, 'GET', '/session')
    // The same owner again needs no question; the session before ends as well.
    const again = await enter(service, 'acme')
    const same = await makeLink(service, 'acme')
    await again.json(200, 'POST', '/session', { token: same.split('#')[1] })
    await again.json(401, 'GET', '/session')
  })

  test('links and cookies are stored as hashes; leaving and revoking end them', async () => {
    const link = await makeLink(service, 'acme')
    const response = await openLink(service, link)
    const [setCookie] = response.headers.getSetCookie()
    assert.match(setCookie!, /^postern_portal=[\w-]{43}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/)
    assert.ok(!(await response.text()).includes(setCookie!.slice(15, 58)))
    const { reader } = service.database
    const rows = [
      ...(await reader.selectFrom('portal_links').selectAll().execute()),
      ...(await reader.selectFrom('portal_sessions').selectAll().execute()),
    ]
    const stored = JSON.stringify(rows.map((row) => Buffer.from(row.token_hash).toString('latin1')))
    assert.ok(!stored.includes(setCookie!.slice(15, 58)) && !stored.includes(link.split('#')[1]!))

    const [leaving, revoked, other] = await Promise.all([
      enter(service, 'acme'),
      enter(service, 'acme'),
      enter(service, 'globex'),
    ])
    await leaving.json(204, 'DELETE', '/session')
    await leaving.json(401, 'GET', '/subscribers')
    await revoked.json(200, 'GET', '/subscribers')
    const unopened = await makeLink(service, 'acme')
    await expectJson(service, 204, '/portal-links?owner=acme', { method: 'DELETE' })
    await revoked.json(401, 'GET', '/subscribers')
    assert.equal((await openLink(service, unopened)).status, 401)
    await other.json(200, 'GET', '/subscribers')
    await expectJson(service, 400, '/portal-links', { method: 'DELETE' })
    const audit = await expectJson<{ data: { action: string; target: string }[] }>(service, 200, '/audit')
    for (const action of ['portal.link_created', 'portal.opened', 'portal.revoked'])
      assert.ok(
        audit.data.some((entry) => entry.action === action && entry.target === 'owner:acme'),
        action,
      )
  })

  test('pages of other sites cannot use the cookie or open a link', async () => {
    const acme = await enter(service, 'guarded')
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: service.baseUrl.replace('127.0.0.1', 'localhost') },
      { origin: 'null' },
    ]
    for (const headers of foreign) {
      const response = await acme.call('POST', '/subscribers', { url }, headers)
      assert.equal(response.status, 403, JSON.stringify(headers))
      assert.equal((await openLink(service, await makeLink(service, 'evil'), headers)).status, 403)
    }
    await acme.json(200, 'GET', '/subscribers')
    const own = { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' }
    assert.equal((await acme.call('POST', '/subscribers', { url }, own)).status, 201)
  })

  test('only admins create links, and the owner is validated', async () => {
    const unknown = await service.fetch('/portal-links', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"owner":"acme"}',
    })
    assert.equal(unknown.status, 401)
    for (const json of [
      {},
      { owner: '*' },
      { owner: '' },
      { owner: 'a b' },
      { owner: 'acme', expiresIn: 1 },
      { owner: 'acme', expiresIn: 1e9 },
      { owner: 'acme', sessionSeconds: 1e9 },
      { owner: 'acme', more: 1 },
    ])
      await expectJson(service, 400, '/portal-links', { method: 'POST', json })
  })
})
