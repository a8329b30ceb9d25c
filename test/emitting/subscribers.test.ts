import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { onEachEngine, started, startReceiver, startTestService } from '../harness/index.ts'
import { enterPortal } from './portal-harness.ts'
import {
  dataOf,
  emit,
  expectJson,
  settled,
  startEmitting,
  subscribe,
  type SubscriberAnswer,
} from './harness.ts'

onEachEngine('subscribers', (engine) => {
  const service = started(() => startEmitting(engine))

  test('the secret is shown once, when it is created', async () => {
    const made = await subscribe(service, {
      url: 'http://127.0.0.1:9/hook',
      eventTypes: ['order.*'],
      description: 'shop',
    })
    assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    const { secret, publicKey, ...rest } = made
    assert.equal(publicKey, undefined)
    const one = await expectJson<SubscriberAnswer>(service, 200, `/subscribers/${made.id}`)
    const { keys, ...shown } = one
    assert.deepEqual(shown, { ...rest, publicKeys: [] })
    assert.equal((keys as unknown[]).length, 1)
    const list = await (await service.admin('/subscribers')).text()
    const changed = await (
      await service.admin(`/subscribers/${made.id}`, { method: 'PATCH', json: { description: null } })
    ).text()
    for (const text of [list, changed, JSON.stringify(one)])
      assert.ok(!text.includes(secret.slice(6)) && !text.includes('"secret"'), text)
  })

  test('a given secret is used, and an invalid one is refused', async () => {
    await using receiver = await startReceiver()
    const secret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
    assert.equal((await subscribe(service, { url: receiver.url, secret: secret.slice(6) })).secret, secret)
    await emit(service, { type: 'a', data: 1 })
    const [call] = await receiver.waitFor(1)
    new Webhook(secret).verify(call!.body, call!.headers as Record<string, string>)
    const response = await service.admin('/subscribers', {
      method: 'POST',
      json: { url: receiver.url, secret: 'too short' },
    })
    assert.equal(response.status, 400)
    assert.ok(!(await response.text()).includes('too short'))
  })

  test('numbers with a zero fraction are accepted as integers', async () => {
    const send = (method: string, path: string, body: string) =>
      service.admin(path, { method, headers: { 'content-type': 'application/json' }, body })
    const made = await send(
      'POST',
      '/subscribers',
      '{"url":"http://127.0.0.1:9/hook","retrySchedule":[0.0,1.0,6e1],"timeout":2.0,"rateLimit":5.0,"concurrency":3.0}',
    )
    const { id, ...settings } = (await made.json()) as Record<string, unknown>
    assert.equal(made.status, 201, JSON.stringify(settings))
    assert.deepEqual(
      [settings['retrySchedule'], settings['timeout'], settings['rateLimit'], settings['concurrency']],
      [[0, 1, 60], 2, 5, 3],
    )
    assert.equal(
      (await send('POST', `/subscribers/${String(id)}/rotate-secret`, '{"overlapSeconds":0.0}')).status,
      200,
    )
    // Left out is as empty; null is something else.
    assert.equal(
      (await service.admin(`/subscribers/${String(id)}/rotate-secret`, { method: 'POST' })).status,
      200,
    )
    assert.equal((await send('POST', `/subscribers/${String(id)}/rotate-secret`, '')).status, 200)
    assert.equal((await send('POST', `/subscribers/${String(id)}/rotate-secret`, 'null')).status, 400)
  })

  test('settings are stored, changed and reset to the default', async () => {
    const settings = {
      retrySchedule: [0, 1.5, 60],
      timeout: 2.5,
      rateLimit: 5,
      concurrency: 3,
      headers: { 'X-Tenant': 'acme', Authorization: 'Bearer b' },
      ordered: true,
      signing: 'both',
    }
    const made = await subscribe(service, { url: 'http://127.0.0.1:9/hook', ...settings })
    assert.match(made.publicKey ?? '', /^whpk_/)
    const shown = { ...settings, headers: { 'x-tenant': 'acme', authorization: '[redacted]' } }
    assert.deepEqual({ ...made, ...shown }, made)
    const change = (json: unknown) =>
      expectJson<SubscriberAnswer>(service, 200, `/subscribers/${made.id}`, {
        method: 'PATCH',
        json,
      })
    const changed = await change({
      retrySchedule: null,
      timeout: null,
      headers: null,
      rateLimit: null,
      concurrency: null,
      ordered: false,
      status: 'paused',
    })
    assert.deepEqual(
      {
        ...changed,
        retrySchedule: null,
        timeout: null,
        headers: {},
        rateLimit: null,
        concurrency: null,
        ordered: false,
        status: 'paused',
      },
      changed,
    )
    assert.equal((await change({ status: 'disabled' }))['disabledReason'], 'Disabled by an API request.')
    assert.equal((await change({ status: 'active' }))['disabledReason'], null)
    assert.equal((await service.admin(`/subscribers/${made.id}`, { method: 'DELETE' })).status, 204)
    for (const method of ['GET', 'DELETE'])
      assert.equal((await service.admin(`/subscribers/${made.id}`, { method })).status, 404)
    assert.equal((await service.admin(`/subscribers/${made.id}`, { method: 'PATCH', json: {} })).status, 404)
  })

  test('a uid is unique for its owner and free again when removed; channels and metadata are stored', async () => {
    const url = 'http://127.0.0.1:9/hook'
    const settings = { uid: 'main', metadata: { region: 'eu' }, channels: ['a', 'b', 'a'], body: 'data' }
    const make = (json: object, status = 201) =>
      expectJson<SubscriberAnswer>(service, status, '/subscribers', {
        method: 'POST',
        json: { url, ...json },
      })
    const change = (id: string, json: object, status = 200) =>
      expectJson<SubscriberAnswer>(service, status, `/subscribers/${id}`, { method: 'PATCH', json })
    const made = await make({ ...settings, owner: 'acme', signatureHeaders: 'svix' })
    const shown = { ...settings, channels: ['a', 'b'], signatureHeaders: 'svix' }
    assert.deepEqual({ ...made, ...shown }, made)
    await make({ uid: 'main', owner: 'globex' })
    const ownerless = await make({ uid: 'main' })
    await make({ uid: 'main' }, 409)
    await make({ uid: 'main', owner: 'acme' }, 409)
    const other = await make({ owner: 'acme' })
    assert.deepEqual(
      [other['uid'], other['metadata'], other['channels'], other['signatureHeaders'], other['body']],
      [null, {}, [], 'webhook', 'event'],
    )
    await change(other.id, { uid: 'main' }, 409)
    await change(made.id, { uid: 'main', description: 'itself' })
    await change(made.id, { uid: null, metadata: null, channels: null })
    assert.equal((await change(other.id, { uid: 'main' }))['uid'], 'main')
    const portal = await enterPortal(service, 'acme')
    const own = await portal.json<SubscriberAnswer>(200, 'GET', `/subscribers/${other.id}`)
    assert.deepEqual([own['uid'], own['metadata']], [null, null])
    await portal.json(400, 'PATCH', `/subscribers/${other.id}`, { uid: 'mine' })
    await portal.json(200, 'PATCH', `/subscribers/${other.id}`, { channels: ['c'], body: 'data' })
    for (const wrong of [
      { uid: 'a b' },
      { uid: '' },
      { channels: ['a b'] },
      { channels: Array.from({ length: 11 }, (_, index) => `c${index}`) },
      { metadata: { a: 'x'.repeat(4096) } },
      { signatureHeaders: 'none' },
      { body: 'none' },
    ])
      await change(ownerless.id, wrong, 400)
    for (const { id } of await dataOf<{ id: string }>(service, '/subscribers'))
      await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('invalid settings are refused with the field', async () => {
    const before = await dataOf<object>(service, '/subscribers')
    const url = 'http://127.0.0.1:9/'
    const bad = [
      {},
      { url: '' },
      { url: 'nonsense' },
      { url: 'ftp://example.com' },
      { url: 'http://user:pass@127.0.0.1/' },
      { url, eventTypes: [] },
      { url, eventTypes: ['a b'] },
      { url, eventTypes: ['*paid'] },
      { url, eventTypes: ['order.**'] },
      { url, eventTypes: 'order.*' },
      { url, description: 'a\0b' },
      { url, retrySchedule: [] },
      { url, retrySchedule: [-1] },
      { url, retrySchedule: Array.from({ length: 51 }, () => 1) },
      { url, timeout: 0 },
      { url, timeout: '5' },
      { url, rateLimit: 0 },
      { url, concurrency: 0 },
      { url, concurrency: 1.5 },
      { url, headers: { host: 'x' } },
      { url, headers: { 'x-a': 'a\r\nb: c' } },
      { url, signing: 'v2' },
      { url, status: 'active' },
      { url, unknown: 1 },
    ]
    for (const json of bad) {
      const response = await service.admin('/subscribers', { method: 'POST', json })
      assert.equal(response.status, 400, JSON.stringify(json))
    }
    for (const id of ['x', '%00', '00000000-0000-7000-8000-000000000000'])
      assert.equal((await service.admin(`/subscribers/${id}`)).status, 404, id)
    assert.equal((await service.fetch('/subscribers')).status, 401)
    assert.deepEqual(await dataOf<object>(service, '/subscribers'), before)
  })

  test('the list has pages, newest first, and refuses an invalid cursor', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1)
      ids.unshift((await subscribe(service, { url: 'http://127.0.0.1:9/', owner: 'paged' })).id)
    type Page = { data: { id: string }[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
    const seen: string[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await expectJson<Page>(
        service,
        200,
        `/subscribers?owner=paged&limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`,
      )
      assert.ok(page.data.length <= 2)
      seen.push(...page.data.map(({ id }) => id))
      assert.equal(page.pageInfo.hasNextPage, page.pageInfo.nextCursor !== null)
      cursor = page.pageInfo.nextCursor
    }
    assert.deepEqual(seen, ids)
    assert.equal((await service.admin('/subscribers?cursor=nonsense')).status, 400)
  })

  test('without ALLOW_PRIVATE_NETWORK, private addresses and http are refused at registration', async () => {
    await using service = await startTestService(engine, { env: { ALLOW_PRIVATE_NETWORK: 'false' } })
    for (const url of [
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://[::ffff:127.0.0.1]/',
      'https://169.254.169.254/latest',
      'https://localhost/',
      'http://example.com/',
    ]) {
      const response = await service.admin('/subscribers', { method: 'POST', json: { url } })
      assert.equal(response.status, 400, url)
      assert.match(((await response.json()) as { detail: string }).detail, /ALLOW_PRIVATE_NETWORK/)
    }
    const { id } = await subscribe(service, { url: 'https://example.com/hook' })
    assert.equal(
      (await service.admin(`/subscribers/${id}`, { method: 'PATCH', json: { url: 'https://10.0.0.1/' } }))
        .status,
      400,
    )
  })

  test('a private address that was registered earlier is refused at delivery once private networks are not allowed', async () => {
    await using database = await engine.createMigratedDatabase()
    await using receiver = await startReceiver()
    const open = await startEmitting(engine, { databaseUrl: database.url })
    const literal = await subscribe(open, { url: receiver.url })
    const named = await subscribe(open, { url: receiver.url.replace('127.0.0.1', 'localhost') })
    await open.close()
    await using strict = await startTestService(engine, {
      databaseUrl: database.url,
      env: { ALLOW_PRIVATE_NETWORK: 'false', EMIT_RETRY_SCHEDULE: '0' },
    })
    await emit(strict, { type: 'a', data: 1 })
    for (const { id } of [literal, named])
      assert.match((await settled(strict, id, 'dead')).attempts[0]!.error ?? '', /private or reserved/)
    assert.equal(receiver.calls.length, 0)
  })

  test('a test event goes to its subscriber only, signed, through the queue and into the log', async () => {
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    const { id, secret } = await subscribe(service, { url: receiver.url, eventTypes: ['order.paid'] })
    await subscribe(service, { url: other.url })
    const path = `/subscribers/${id}/test`
    const answer = await expectJson<{ eventId: string; deliveryId: number }>(service, 202, path, {
      method: 'POST',
    })
    const [call] = await receiver.waitFor(1)
    const payload = new Webhook(secret).verify(call!.body, call!.headers as Record<string, string>) as {
      type: string
      id: string
    }
    assert.deepEqual([payload.type, payload.id], ['postern.test', answer.eventId])
    assert.equal((await settled(service, id, 'delivered')).id, answer.deliveryId)
    assert.equal(other.calls.length, 0)
  })
})
