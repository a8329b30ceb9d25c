// Events that a subscriber never got, because it did not match or exist when they were emitted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, startReceiver, type TestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { untilStatus, deliveries, emit, expectJson, startEmitting, subscribe, until } from './harness.ts'
import { enterPortal } from './portal-harness.ts'

type Job = AnswerTo<'GET /jobs/{id}'>

const since = '2020-01-01T00:00:00Z'

async function replayMissing(service: TestService, subscriber: string, filter: object = {}): Promise<Job> {
  const begun = await expectJson<Job>(service, 202, `/subscribers/${subscriber}/replay`, {
    method: 'POST',
    json: { status: 'missing', since, ...filter },
  })
  return until(async () => {
    const job = await expectJson<Job>(service, 200, `/jobs/${begun.id}`)
    return job.status === 'done' ? job : undefined
  }, 'the job is done')
}

async function eventsOf(service: TestService, subscriber: string): Promise<string[]> {
  return (await deliveries(service, subscriber)).map(({ eventId }) => eventId).toSorted()
}

onEachEngine('missing events', (engine) => {
  test('a replay sends those that the subscriber matches now', async () => {
    await using receiver = await startReceiver()
    await using service = await startEmitting(engine)
    const send = (id: string, event: object = {}): Promise<{ id: number }> =>
      emit(service, { id, type: 'order.paid', data: { n: 1 }, audience: 'acme', ...event })
    await subscribe(service, { url: receiver.url, owner: 'acme', sendTest: true, eventTypes: ['none'] })
    await send('usual')
    await send('eu', { channels: ['eu'] })
    await send('eu-other', { channels: ['eu'], data: { n: 2 } })
    await send('all', { audience: '*' })
    await send('none', { audience: undefined })
    await send('foreign', { audience: 'other' })
    await send('type', { type: 'user.created' })
    await send('later', { delay: 600 })
    const { id: removed } = await send('removed')
    await expectJson(service, 204, `/events/${removed}/payload`, { method: 'DELETE' })

    const settings = { url: receiver.url, owner: 'acme', eventTypes: ['order.*', 'postern.*'] }
    const { id } = await subscribe(service, settings)
    await send('new')
    const job = await replayMissing(service, id)
    assert.deepEqual([job.done, job.total], [4, 4])
    const sent = ['all', 'eu', 'eu-other', 'new', 'usual']
    assert.deepEqual(await eventsOf(service, id), sent)
    assert.equal((await replayMissing(service, id)).done, 0)
    await untilStatus(service, id, 'delivered', sent.length)

    const channel = { ...settings, channels: ['eu'], conditions: [{ path: '/n', op: 'eq', value: 1 }] }
    const { id: narrow } = await subscribe(service, channel)
    assert.equal((await replayMissing(service, narrow, { eventType: 'user.created' })).done, 0)
    assert.equal((await replayMissing(service, narrow, { until: since })).done, 0)
    await replayMissing(service, narrow)
    assert.deepEqual(await eventsOf(service, narrow), ['eu'])

    const { id: ownerless } = await subscribe(service, { url: receiver.url })
    await replayMissing(service, ownerless)
    assert.deepEqual(await eventsOf(service, ownerless), ['all', 'none'])

    const acme = await enterPortal(service, 'acme')
    const asked = { status: 'missing', since, until: since }
    await acme.json(202, 'POST', `/subscribers/${narrow}/replay`, asked)
    for (const wrong of [{ since: undefined }, { dryRun: true }])
      await acme.json(400, 'POST', `/subscribers/${narrow}/replay`, { ...asked, ...wrong })
  })
})
