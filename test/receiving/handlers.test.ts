import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { github, type Handler } from '../../src/index.ts'
import { onEachEngine, rowIn, rowsOf, startTestService, type TestService, each } from '../harness/index.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'
import { dataOf } from '../emitting/harness.ts'

onEachEngine('handlers', (engine) => {
  let stolen = false
  let conflicts = 0
  let service: TestService
  const calls: string[] = []
  const note =
    (name: string): Handler =>
    (event) => {
      calls.push(`${name} ${event.type}`)
    }
  let abortedReason: unknown
  let lateQuery: Promise<unknown> | undefined
  let release: () => void
  const held = new Promise<void>((resolve) => (release = resolve))

  before(async () => {
    service = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0' },
      receiving: {
        sources: { github: github({ secret: 'github-secret' }) },
        handlers: {
          'order.paid': note('exact'),
          'order.*': note('prefix'),
          'order.paid.*': note('longer prefix'),
          issues: note('kind'),
          flaky: async (event, { tx, emit }) => {
            await writeEffect(tx, event.id, event.attempt)
            emit({
              type: 'flaky.done',
              data: { attempt: event.attempt },
              id: `done-${event.id}-${event.attempt}`,
            })
            if (event.attempt < 3) throw new Error('not yet')
          },
          hanging: {
            // On a busy machine the first statement takes some of it.
            timeout: 1,
            handle: async (event, { tx, signal }) => {
              await writeEffect(tx, event.id)
              await new Promise((resolve) => signal.addEventListener('abort', resolve))
              abortedReason = signal.reason
              lateQuery = writeEffect(tx, event.id)
              lateQuery.catch(() => undefined)
              await lateQuery
            },
          },
          stolen: async (event, { tx }) => {
            if (event.attempt === 1 && !stolen) {
              stolen = true
              // The lease ends and somebody else takes the event while this handler is still at work.
              await service.database.transaction((other) =>
                other
                  .updateTable('event_queue')
                  .set({ claim: 'somebody else', leased_until: Date.now() })
                  .where('event_id', '=', event.id)
                  .execute(),
              )
            }
            await writeEffect(tx, event.id, event.attempt)
          },
          waiting: () => held,
          quick: async (event, { tx }) => writeEffect(tx, event.id),
          odd: () => {
            throw Object.assign(new Error(''), { message: { code: 1 }, name: 404 })
          },
          'never shown': () => {
            throw Object.assign(new Error('hidden'), {
              [inspect.custom]() {
                throw new Error('no')
              },
            })
          },
          'late throw': async () => {
            await Promise.resolve()
            throw new Error('late')
          },
          'bad emit': (_event, { emit }) => emit({ type: '', data: {} }),
          conflicting: async (event, { tx }) => {
            await writeEffect(tx, event.id)
            // More often than the schedule has attempts.
            if (conflicts === 4) return
            conflicts += 1
            const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' })
            throw new Error('wrapped by the handler', { cause: deadlock })
          },
          swallowed: async (_event, { tx }) => {
            // A statement that fails ends the transaction on PostgreSQL; swallowing its error must not count as success.
            await tx
              .selectFrom('no_such_table')
              .selectAll()
              .execute()
              .catch(() => undefined)
          },
        },
      },
    })
    await createEffects(service.database)
  })
  after(async () => {
    release()
    await service.close()
  })

  const entryOf = (eventId: string) => rowIn(service, 'event_queue', { event_id: eventId })
  const effectsOf = async (eventId: string) =>
    (await readEffects(service.database)).filter((id) => id === eventId).length

  test('all matching handlers run, the most specific first', async () => {
    await postWebhook(service, { id: 'patterns-1', type: 'order.paid' })
    await postWebhook(service, { id: 'patterns-2', type: 'order.paid.late' })
    await postWebhook(service, { id: 'patterns-3', type: 'order' })
    await settled(service.database)
    assert.deepEqual(calls.splice(0).toSorted(), [
      'exact order.paid',
      'longer prefix order.paid.late',
      'prefix order.paid',
      'prefix order.paid.late',
    ])
    await postWebhook(service, { id: 'patterns-4', type: 'order.paid' })
    await settled(service.database)
    assert.deepEqual(calls.splice(0), ['exact order.paid', 'prefix order.paid'])
  })

  test('a deadlock with another transaction does not count as a failure of the handler', async () => {
    await postWebhook(service, { id: 'conflict', type: 'conflicting' })
    await settled(service.database)
    assert.equal(conflicts, 4)
    const { status, event } = await entryOf('conflict')
    assert.equal(status, 'processed')
    const failures = service.database.reader.selectFrom('handler_failures').where('event', '=', event)
    assert.deepEqual(await failures.selectAll().execute(), [])
    assert.equal(await effectsOf('conflict'), 1)
  })

  test('a handler for a GitHub event gets all of its actions', async () => {
    const body = JSON.stringify({ action: 'opened', issue: {} })
    const response = await service.fetch('/webhooks/github', {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'issues',
        'x-github-delivery': 'delivery-1',
        'x-hub-signature-256': `sha256=${createHmac('sha256', 'github-secret').update(body).digest('hex')}`,
      },
    })
    assert.equal(response.status, 200)
    await settled(service.database)
    assert.deepEqual(calls.splice(0), ['kind issues.opened'])
  })

  test('writes and events of failed attempts are rolled back, those of the successful one commit', async () => {
    await postWebhook(service, { id: 'flaky', type: 'flaky' })
    await settled(service.database)
    const entry = await entryOf('flaky')
    assert.equal(entry.status, 'processed')
    assert.equal(entry.attempts, 3)
    assert.equal(await effectsOf('flaky'), 1)
    const emitted = await rowsOf(service, 'events', { type: 'flaky.done' })
    assert.deepEqual(each(emitted, 'event_id'), ['done-flaky-3'])
  })

  test("on timeout a handler's signal is aborted, its work rolled back and its transaction closed", async () => {
    await postWebhook(service, { id: 'hanging', type: 'hanging' })
    const failed = await eventually(async () =>
      (await entryOf('hanging')).status === 'failed' ? entryOf('hanging') : undefined,
    )
    assert.equal(failed.attempts, 3)
    assert.equal(await effectsOf('hanging'), 0)
    assert.match(String(abortedReason), /did not end within 1000 ms/)
    await assert.rejects(lateQuery!, /already/)
    const failures = await rowsOf(service, 'handler_failures', { event: failed.event })
    assert.match(failures[0]!.error, /HandlerTimeout/)
  })

  test('a worker that outlives its lease commits nothing; the new owner processes the event', async () => {
    await postWebhook(service, { id: 'stolen', type: 'stolen' })
    await settled(service.database)
    assert.equal((await entryOf('stolen')).attempts, 1, 'only the run that ended counts')
    assert.equal(await effectsOf('stolen'), 1)
  })

  test('a waiting handler does not block others', async () => {
    await postWebhook(service, { id: 'waiting', type: 'waiting' })
    for (let index = 0; index < 20; index += 1)
      await postWebhook(service, { id: `quick-${index}`, type: 'quick' })
    await eventually(
      async () => (await readEffects(service.database)).filter((id) => id.startsWith('quick-')).length === 20,
    )
    release()
    await settled(service.database)
  })

  test('emitting an invalid event fails the handler', async () => {
    await postWebhook(service, { id: 'bad emit', type: 'bad emit' })
    await settled(service.database)
    assert.equal((await entryOf('bad emit')).status, 'failed')
  })

  test('the stack of a stored error names no code of the service', async () => {
    await postWebhook(service, { id: 'late throw', type: 'late throw' })
    await settled(service.database)
    const { event } = await entryOf('late throw')
    const failures = service.database.reader.selectFrom('handler_failures').select('error')
    const { error } = await failures.where('event', '=', event).limit(1).executeTakeFirstOrThrow()
    assert.match(error, /at late throw \(.*handlers\.test\.ts/)
    assert.doesNotMatch(error, /src\/receiving/)
  })

  test('errors with fields of other types, or that cannot be shown, are failures as any other', async () => {
    for (const [type, error] of [
      ['odd', /object Object/],
      ['never shown', /hidden/],
    ] as const) {
      await postWebhook(service, { id: type, type })
      await settled(service.database)
      const { status, attempts } = await entryOf(type)
      assert.deepEqual([status, attempts], ['failed', 3])
      const data = await dataOf<{ error: string }>(service, `/events/failed?type=${type}`)
      assert.match(data[0]!.error, error)
    }
  })

  if (engine.name === 'postgres') {
    test('a failed statement fails the attempt, even if the handler catches its error', async () => {
      await postWebhook(service, { id: 'swallowed', type: 'swallowed' })
      await settled(service.database)
      assert.equal((await entryOf('swallowed')).status, 'failed')
    })
  }
})

onEachEngine('stopping', (engine) => {
  test('unfinished events are released, and processed by the next process', async () => {
    await using home = await engine.createMigratedDatabase()
    let begun = false
    const first = await startTestService(engine, {
      databaseUrl: home.url,
      handlers: {
        slow: async (event, { tx, signal }) => {
          await writeEffect(tx, event.id, event.attempt)
          begun = true
          await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
        },
      },
    })
    await createEffects(first.database)
    await postWebhook(first, { id: 'interrupted', type: 'slow' })
    await eventually(() => begun)
    await first.stop(50)

    await using second = await startTestService(engine, {
      databaseUrl: home.url,
      config: {
        receiving: { handlers: { slow: (event, { tx }) => writeEffect(tx, event.id, event.attempt) } },
      },
    })
    await settled(second.database)
    const entry = await rowIn(second, 'event_queue')
    assert.equal(entry.attempts, 1, 'the interrupted attempt does not count')
    assert.deepEqual(await readEffects(second.database), ['interrupted'])
  })
})
