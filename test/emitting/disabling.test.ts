// When deliveries end by themselves: what a subscriber asks for in its answers, and a week of nothing but failures.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Answer, onEachEngine, started, startReceiver, type TestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import {
  untilStatus,
  change,
  emit,
  expectJson,
  removeSubscribers,
  settled,
  startEmitting,
  subscribe,
  until,
} from './harness.ts'

const day = 86_400_000

type Shown = AnswerTo<'GET /subscribers/{id}'>
const show = async (service: TestService, id: string): Promise<Shown> =>
  await expectJson<Shown>(service, 200, `/subscribers/${id}`)

const asking =
  (status: number, what: string): Answer =>
  (response) =>
    response.writeHead(status, { 'webhook-delivery': what }).end()

onEachEngine('deliveries that end', (engine) => {
  const service = started(() => startEmitting(engine))
  afterEach(() => removeSubscribers(service))

  test('`webhook-delivery: disable` disables the subscriber, also with a success', async () => {
    for (const [status, delivery] of [
      [200, 'delivered'],
      [503, 'dead'],
    ] as const) {
      const receiver = await startReceiver(asking(status, 'disable'))
      const { id } = await subscribe(service, { url: receiver.url })
      await emit(service, { type: 'a', data: 1 })
      const { attempts } = await settled(service, id, delivery)
      assert.equal(attempts.length, 1)
      const shown = await until(async () => {
        const now = await show(service, id)
        return now.status === 'disabled' && now
      }, 'it is disabled')
      assert.equal(shown.disabledReason, 'The subscriber answered with webhook-delivery: disable.')
      await receiver.close()
    }
  })

  test('`webhook-delivery: abort-message` ends the attempts of this delivery only, and the log shows it', async () => {
    await using receiver = await startReceiver(asking(500, 'abort-message'), 204)
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    const { attempts } = await settled(service, id, 'dead')
    assert.equal(attempts.length, 1)
    assert.equal(attempts[0]!.failure, 'aborted')
    assert.equal(attempts[0]!.error, 'returned HTTP 500 with webhook-delivery: abort-message')
    await emit(service, { type: 'a', data: 2 })
    await settled(service, id, 'delivered')
    const { status, failingSince } = await show(service, id)
    assert.deepEqual([status, failingSince], ['active', null])
  })

  test('disabled after a week of failures with a warning one day before; continues after it is enabled', async () => {
    let skipped = 0
    const clock = { ...systemClock, now: () => Date.now() + skipped }
    await using admins = await startReceiver()
    await using receiver = await startReceiver(500)
    await using service = await startEmitting(engine, {
      env: { EMIT_RETRY_SCHEDULE: '0' },
      parts: { clock },
    })
    await subscribe(service, { url: admins.url, operational: true, eventTypes: ['subscriber.*'] })
    const { id } = await subscribe(service, { url: receiver.url })
    const fail = async (data: number): Promise<void> => {
      await emit(service, { type: 'a', data })
      await untilStatus(service, id, 'dead', data)
    }
    await fail(1)
    const failing = await until(async () => {
      const now = await show(service, id)
      return now.failingSince !== null && now
    }, 'it is shown to fail')
    assert.equal(Date.parse(failing.disablesAt!) - Date.parse(failing.failingSince!), 7 * day)

    skipped = 5.9 * day
    await fail(2)
    assert.equal(admins.calls.length, 0)

    skipped = 6.1 * day
    await fail(3)
    const [warning] = (await admins.waitFor(1)).map(({ body }) => JSON.parse(body.toString()))
    assert.equal(warning.type, 'subscriber.disabling')
    assert.equal(warning.data.subscriber.id, id)
    const warned = await show(service, id)
    assert.equal(warned.status, 'active')
    assert.equal(warned.disablesAt, warning.data.disablesAt)

    skipped = 7.05 * day
    await fail(4)
    assert.equal((await show(service, id)).status, 'active', 'the whole day of the warning has to pass')

    skipped = 7.2 * day
    await fail(5)
    await admins.waitFor(2)
    const disabled = await show(service, id)
    assert.equal(disabled.status, 'disabled')
    assert.match(disabled.disabledReason ?? '', /^Every attempt since 20.* failed\.$/)
    assert.equal(disabled.disablesAt, null)

    receiver.answer(204)
    await change(service, id, { status: 'active' })
    const again = await show(service, id)
    assert.deepEqual([again.status, again.disabledReason, again.failingSince], ['active', null, null])
    await emit(service, { type: 'a', data: 6 })
    await settled(service, id, 'delivered')
  })

  test('a success within the week prevents the disabling and restarts the week', async () => {
    let skipped = 0
    const clock = { ...systemClock, now: () => Date.now() + skipped }
    await using receiver = await startReceiver(500, 204, 500)
    await using service = await startEmitting(engine, { env: { EMIT_RETRY_SCHEDULE: '0' }, parts: { clock } })
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await until(async () => (await show(service, id)).failingSince !== null, 'it fails')
    skipped = 6.9 * day
    await emit(service, { type: 'a', data: 2 })
    await until(async () => (await show(service, id)).failingSince === null, 'it has recovered')
    skipped = 8 * day
    await emit(service, { type: 'a', data: 3 })
    const { status, disablesAt } = await until(async () => {
      const now = await show(service, id)
      return now.failingSince !== null && now
    }, 'it fails again')
    assert.equal(status, 'active')
    assert.ok(Date.parse(disablesAt!) > Date.now() + 14 * day)
  })
})
