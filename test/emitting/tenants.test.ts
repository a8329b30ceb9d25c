// What keeps one owner's events, headers and network from another: owners choose addresses and see answers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, scoped, started, startReceiver, type TestService, each } from '../harness/index.ts'
import {
  emitLines,
  delivery,
  deliveries,
  emit,
  expectJson,
  settled,
  startEmitting,
  subscribe,
  until,
  type SubscriberAnswer,
} from './harness.ts'
import { enterPortal } from './portal-harness.ts'

const url = 'http://127.0.0.1:9/'

function change(service: TestService, id: string, json: unknown, status = 200): Promise<unknown> {
  return expectJson(service, status, `/subscribers/${id}`, { method: 'PATCH', json })
}

/** What versions before the fix allowed: the subscriber gets another owner. */
async function giveTo(service: TestService, id: string, owner: string | null): Promise<void> {
  await using database = scoped(await openDatabase(service.databaseUrl))
  await database.transaction((tx) =>
    tx
      .updateTable('subscribers')
      .set({ owner, updated_at: Date.now() + 1 })
      .where('id', '=', id)
      .execute(),
  )
}

onEachEngine('tenants', (engine) => {
  const service = started(() => startEmitting(engine))

  test('exceptions for private networks apply only to subscribers without an owner', async () => {
    await using receiver = await startReceiver((response) => response.end('inner data'))
    const { port } = new URL(receiver.url)
    await using service = await startEmitting(engine, {
      env: {
        ALLOW_PRIVATE_NETWORK: 'false',
        EMIT_ALLOWED_NETWORKS: '127.0.0.1/32',
        EMIT_ALLOWED_HOSTS: 'localhost',
      },
    })
    const acme = await enterPortal(service, 'acme')
    for (const host of ['127.0.0.1', 'localhost']) {
      const address = `http://${host}:${port}/metadata`
      const own = await subscribe(service, { url: address, sendTest: true })
      assert.equal((await settled(service, own.id, 'delivered')).attempts[0]!.responseBody, 'inner data')
      await acme.json(400, 'POST', '/subscribers', { url: address, sendTest: true })
      await expectJson(service, 400, '/subscribers', {
        method: 'POST',
        json: { url: address, owner: 'acme' },
      })
    }
    const made = await acme.json<{ id: string }>(201, 'POST', '/subscribers', { url: 'https://example.com/' })
    await acme.json(400, 'PATCH', `/subscribers/${made.id}`, { url: receiver.url })
    await change(service, made.id, { url: receiver.url }, 400)
  })

  test("an owner's delivery never reuses a connection that an exception allowed", async () => {
    await using receiver = await startReceiver()
    const { port } = new URL(receiver.url)
    await using database = await engine.createMigratedDatabase()
    const before = await startEmitting(engine, { databaseUrl: database.url })
    const owned = []
    for (const host of ['127.0.0.1', 'localhost'])
      owned.push(await subscribe(before, { url: `http://${host}:${port}/hook`, owner: 'acme' }))
    await before.close()
    await using service = await startEmitting(engine, {
      databaseUrl: database.url,
      env: {
        ALLOW_PRIVATE_NETWORK: 'false',
        EMIT_ALLOWED_NETWORKS: '127.0.0.1/32',
        EMIT_ALLOWED_HOSTS: 'localhost',
      },
    })
    for (const host of ['127.0.0.1', 'localhost'])
      await subscribe(service, { url: `http://${host}:${port}/hook` })
    await emit(service, { type: 'a', data: 1 })
    await receiver.waitFor(2)
    await emit(service, { type: 'a', data: 1, audience: 'acme' })
    const failures = []
    for (const { id } of owned) failures.push((await settled(service, id, 'dead')).attempts[0]!)
    assert.deepEqual(each(failures, 'failure'), ['address-refused', 'name-not-found'])
    // What a name leads to in the private network is not told.
    assert.equal(failures[1]!.error, 'the host name does not resolve to a public address')
    assert.equal(receiver.calls.length, 2)
  })

  test('an owner sees the start of a response and common headers; an admin sees all that is stored', async () => {
    await using receiver = await startReceiver((response) =>
      response
        .writeHead(200, { 'content-type': 'text/plain', 'x-inner': 'secret', 'retry-after': '7' })
        .end('a'.repeat(10_000)),
    )
    const acme = await enterPortal(service, 'acme')
    const made = await acme.json<{ id: string }>(201, 'POST', '/subscribers', {
      url: receiver.url,
      sendTest: true,
    })
    const whole = await settled(service, made.id, 'delivered')
    assert.equal(whole.attempts[0]!.responseHeaders!['x-inner'], 'secret')
    assert.equal(whole.attempts[0]!.responseBody!.length, 10_000)
    const seen = await acme.json<typeof whole>(200, 'GET', `/deliveries/${whole.id}`)
    const headers = seen.attempts[0]!.responseHeaders!
    assert.deepEqual(
      [headers['content-type'], headers['retry-after'], headers['x-inner']],
      ['text/plain', '7', undefined],
    )
    assert.equal(seen.attempts[0]!.responseBody!.length, 4096)
  })

  test('the owner of a subscriber is fixed', async () => {
    const [owned, ownerless] = await Promise.all([
      subscribe(service, { url, owner: 'acme' }),
      subscribe(service, { url }),
    ])
    for (const owner of ['globex', null]) await change(service, owned.id, { owner }, 409)
    await change(service, ownerless.id, { owner: 'acme' }, 409)
    const problem = (await change(service, owned.id, { owner: 'globex', url }, 409)) as { detail: string }
    assert.match(problem.detail, /owner of a subscriber is fixed/)
    const same = (await change(service, owned.id, { owner: 'acme', description: 'x' })) as SubscriberAnswer
    assert.deepEqual([same['owner'], same['description'], same['url']], ['acme', 'x', url])
    await change(service, ownerless.id, { owner: null })
  })

  test('if a subscriber had another owner before, events of that owner stay hidden and unsent', async () => {
    await using receiver = await startReceiver(500)
    const made = await subscribe(service, { url: receiver.url, owner: 'acme' })
    await emit(service, { type: 'of.acme', data: 'secret of acme', audience: 'acme' })
    const dead = await settled(service, made.id, 'dead')
    await change(service, made.id, { status: 'paused' })
    const waiting = await emit(service, { type: 'of.acme', data: 'another secret', audience: 'acme' })
    await giveTo(service, made.id, 'globex')
    receiver.answer(204)
    const globex = await enterPortal(service, 'globex')
    const log = (): Promise<{ data: { id: number }[] }> =>
      globex.json(200, 'GET', `/subscribers/${made.id}/deliveries`)
    assert.deepEqual((await log()).data, [])
    await globex.json(404, 'GET', `/deliveries/${dead.id}`)
    await globex.json(404, 'POST', `/deliveries/${dead.id}/replay`)
    const counted = await globex.json(200, 'POST', `/subscribers/${made.id}/replay`, { dryRun: true })
    assert.deepEqual(counted, { total: 0 })
    await expectJson(service, 409, `/deliveries/${dead.id}/replay`, { method: 'POST' })

    const sent = receiver.calls.length
    await globex.json(200, 'PATCH', `/subscribers/${made.id}`, { status: 'active' })
    const [newest] = await deliveries(service, made.id)
    assert.equal(newest!.eventId, waiting.eventId)
    await until(async () => (await delivery(service, newest!.id)).status === 'dead', 'it is given up')
    assert.equal((await delivery(service, newest!.id)).attempts[0]!.failure, 'other-audience')
    assert.equal(receiver.calls.length, sent)
    // Its own events, those for all and its test events go on.
    await emit(service, { type: 'of.globex', data: 1, audience: 'globex' })
    await emit(service, { type: 'of.all', data: 1, audience: '*' })
    await globex.json(202, 'POST', `/subscribers/${made.id}/test`)
    await receiver.waitFor(sent + 3)
    await until(async () => (await log()).data.length === 3, 'its own deliveries are shown')
  })

  test('stored headers are removed when the origin of the address changes, unless given again', async () => {
    await using receiver = await startReceiver()
    const headers = { 'x-api-key': 'secret-of-admin', 'x-note': 'a' }
    const made = await subscribe(service, { url: 'https://api.example.com/a', owner: 'acme', headers })
    const acme = await enterPortal(service, 'acme')
    const path = `/subscribers/${made.id}`
    const shown = { 'x-api-key': '[redacted]', 'x-note': 'a' }
    // The same origin keeps them.
    const moved = await acme.json<{ headers: object }>(200, 'PATCH', path, {
      url: 'https://API.example.com:443/b',
    })
    assert.deepEqual(moved.headers, shown)
    for (const given of [shown, { 'X-Api-Key': '[redacted]' }]) {
      await acme.json(400, 'PATCH', path, { url: receiver.url, headers: given })
      await change(service, made.id, { url: 'https://other.example.com/', headers: given }, 400)
    }
    const gone = await acme.json<{ headers: object }>(200, 'PATCH', path, { url: receiver.url })
    assert.deepEqual(gone.headers, {})
    await acme.json(202, 'POST', `${path}/test`)
    const [call] = await receiver.waitFor(1)
    assert.deepEqual([call!.headers['x-api-key'], call!.headers['x-note']], [undefined, undefined])
    // Going back brings nothing back.
    await acme.json(200, 'PATCH', path, { url: 'https://api.example.com/a' })
    assert.deepEqual((await acme.json<{ headers: object }>(200, 'GET', path)).headers, {})
    const again = await acme.json<{ headers: object }>(200, 'PATCH', path, {
      url: receiver.url,
      headers: { 'x-api-key': 'mine' },
    })
    assert.deepEqual(again.headers, { 'x-api-key': '[redacted]' })
    await acme.json(202, 'POST', `${path}/test`)
    assert.equal((await receiver.waitFor(2))[1]!.headers['x-api-key'], 'mine')
    await acme.json(400, 'PATCH', path, { headers: { 'x-other-key': '[redacted]' } })
  })

  test('an id with a dot is refused, because its signature would be valid for another id and time', async () => {
    await using receiver = await startReceiver()
    const { secret } = await subscribe(service, { url: receiver.url })
    const time = Math.floor(Date.now() / 1000)
    for (const id of [`b.${time}`, '.', 'a.b']) {
      const problem = await expectJson<{ source: { pointer: string } }>(service, 400, '/events', {
        method: 'POST',
        json: { type: 'a', data: 1, id },
      })
      assert.equal(problem.source.pointer, '/id')
    }
    const [line] = await emitLines(service, `{"type":"a","data":1,"id":"b.${time}"}\n`)
    assert.equal(line!.status, 400)
    await emit(service, { type: 'a', data: 1, id: "b!~-/'%2E" })
    const [call] = await receiver.waitFor(1)
    const verified = new Webhook(secret).verify(
      call!.body.toString(),
      call!.headers as Record<string, string>,
    )
    assert.equal((verified as { id: string }).id, "b!~-/'%2E")
  })
})
