// GET /live: what changes, as server-sent events.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { adminKey, onEachEngine, startedService, startTestService } from '../harness/index.ts'
import { scoped } from '../harness/scoped.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { hurried, listen } from './live-listener.ts'

onEachEngine('GET /live', (engine) => {
  let fails = true

  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,3600' },
    handlers: {
      'order.broken': () => {
        if (fails) throw new Error('not today')
      },
    },
  }))

  test('a new event and its status come without a question', async () => {
    await using live = scoped(await listen(service))
    assert.equal(live.response.headers.get('x-accel-buffering'), 'no')
    assert.match(live.response.headers.get('content-type')!, /^text\/event-stream/)
    await eventually(() => live.of('hello').length === 1)
    await postWebhook(service, { id: 'broken-1', type: 'order.broken' })
    await eventually(() => live.of('event').some(({ data }) => data.status === 'retrying'))
    await eventually(() => live.of('changed').some(({ data }) => data.topics!.includes('failures')))
    const [first] = live.of('event')
    assert.equal(first!.data.eventId, 'broken-1')
    assert.equal(first!.id, String(first!.data.id))

    fails = false
    await service.admin(`/events/${first!.data.id}/reprocess`, { method: 'POST', json: {} })
    await eventually(() => live.of('event').some(({ data }) => data.status === 'processed'))
    // The call left an entry in the audit log.
    await eventually(() => live.of('changed').some(({ data }) => data.topics!.includes('audit')))
  })

  test('a viewer that connects again gets what came meanwhile', async () => {
    const first = await listen(service)
    await eventually(() => first.of('hello').length === 1)
    const position = first.of('hello')[0]!.id!
    await first.close()
    await postWebhook(service, { id: 'missed-1', type: 'order.paid' })
    await using second = scoped(await listen(service, { 'last-event-id': position }))
    await eventually(() => second.of('event').some(({ data }) => data.eventId === 'missed-1'))
    await eventually(() => second.of('changed').length > 0)
    assert.deepEqual(second.of('gap'), [])
  })

  test('a viewer that was away for too long is told that there is a gap', async () => {
    const live = await listen(service)
    await eventually(() => live.of('hello').length === 1)
    const position = live.of('hello')[0]!.id!
    await live.close()
    for (let count = 0; count < 5; count += 1)
      await service.admin('/events', {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body: Array.from({ length: 50 }, (_, at) =>
          JSON.stringify({ id: `many-${count}-${at}`, type: 'a', data: 1 }),
        ).join('\n'),
      })
    await using late = scoped(await listen(service, { 'last-event-id': position }))
    await eventually(() => late.of('gap').length === 1)
  })

  test('it asks for the type of the answer, and for a credential with the scope', async () => {
    const plain = await service.admin('/live')
    assert.equal(plain.status, 406)
    assert.equal(((await plain.json()) as { code: string }).code, 'not-acceptable')
  })

  test('one person cannot open any number of connections', async () => {
    // Without the connections of other tests, which may not have ended yet.
    await using service = await startTestService(engine)
    const open = await Promise.all(Array.from({ length: 20 }, () => listen(service)))
    const refused = await service.admin('/live', { headers: { accept: 'text/event-stream' } })
    assert.equal(refused.status, 503)
    assert.ok(refused.headers.has('retry-after'))
    await refused.body?.cancel()
    await Promise.all(open.map((live) => live.close()))
    await eventually(async () => {
      const again = await fetch(`${service.baseUrl}/live`, {
        headers: { accept: 'text/event-stream', authorization: `Bearer ${adminKey}` },
      })
      await again.body?.cancel()
      return again.status === 200
    })
  })

  test('a connection ends when its credential does', async () => {
    // In demo mode the route is open.
    const env = { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' }
    await using other = await startTestService(engine, { env, parts: { clock: hurried } })
    const keys = new ApiKeys(other.database, systemClock, createRecordAudit(systemClock))
    const { key, id } = await keys.create({ name: 'viewer', scopes: ['events:read'] }, {})
    const live = await listen(other, { authorization: `Bearer ${key}` })
    await eventually(() => live.of('hello').length === 1)
    assert.ok(await keys.revoke(id, {}))
    await eventually(live.isEnded)
  })

  if (engine.name === 'postgres')
    test('viewers of one process see what another one does', async () => {
      await using other = await startTestService(engine, { databaseUrl: service.databaseUrl })
      await using live = scoped(await listen(other))
      await eventually(() => live.of('hello').length === 1)
      await postWebhook(service, { id: 'elsewhere-1', type: 'order.paid' })
      await eventually(() => live.of('event').some(({ data }) => data.eventId === 'elsewhere-1'))
    })

  test('a stop ends the connections at once', async () => {
    await using other = await startTestService(engine)
    const live = await listen(other)
    await eventually(() => live.of('hello').length === 1)
    const began = performance.now()
    await other.stop(600_000)
    assert.ok(live.isEnded() || (await eventually(live.isEnded)))
    // A stop waits for answers in progress almost until its limit.
    assert.ok(performance.now() - began < 300_000)
  })
})
