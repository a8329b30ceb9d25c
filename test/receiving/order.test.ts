// Events of one order key are handled one after the other, in the order of their receipt; others in parallel.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { HandlerContext, ReceivedEvent } from '../../src/index.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { engines, onEachEngine, rowIn, rowsOf, started, startTestService } from '../harness/index.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

interface Payload {
  id: string
  key?: string
}

interface Order {
  orderBy: (event: ReceivedEvent) => unknown
  handle: (event: ReceivedEvent, context: HandlerContext) => Promise<void>
}

onEachEngine('events in order', (engine) => {
  /** What the handler of the current test does. */
  let current: Order
  /** Ids in the order in which their last runs ended well: a run that is rolled back for delaying others is repeated. */
  let done: string[]
  /** Before the ids of the current test. */
  let prefix = ''
  const lines: string[] = []
  const service = started(async () => {
    const own = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0' },
      handlers: {
        '*': {
          orderBy: (event) => current.orderBy(event) as string,
          handle: (event, context) => current.handle(event, context),
        },
      },
      parts: { log: createLog('error', { write: (line) => void lines.push(line) }) },
    })
    await createEffects(own.database)
    return own
  })
  let run = 0
  beforeEach(() => {
    done = []
    run += 1
    prefix = `${run}-`
  })

  const keyOf = (event: ReceivedEvent): string | undefined => (event.payload as Payload).key
  const idOf = (event: ReceivedEvent): string => event.id.slice(prefix.length)
  const work = async (event: ReceivedEvent, { tx }: HandlerContext): Promise<void> => {
    await writeEffect(tx, event.id)
    done = [...done.filter((id) => id !== idOf(event)), idOf(event)]
  }
  const post = async (id: string, key?: string, type = 'order.paid'): Promise<void> => {
    assert.equal((await postWebhook(service, { id: prefix + id, type, key })).status, 200)
  }
  const statuses = async (): Promise<Record<string, string>> => {
    const rows = (await rowsOf(service, 'event_queue')).filter(({ event_id }) => event_id.startsWith(prefix))
    return Object.fromEntries(rows.map(({ event_id, status }) => [event_id.slice(prefix.length), status]))
  }
  const effects = async (): Promise<string[]> =>
    (await readEffects(service.database)).filter((id) => id.startsWith(prefix))
  const failAlways = (): never => {
    throw new Error('no')
  }

  test('in the order of receipt within each key, for all types; keys do not wait for each other', async () => {
    current = { orderBy: keyOf, handle: work }
    const keys = ['a', 'b', 'c', 'd', 'e']
    await Promise.all(
      keys.map(async (key) => {
        for (let n = 0; n < 40; n += 1)
          await post(`${key}${n}`, key, n % 2 === 0 ? 'order.paid' : 'order.sent')
      }),
    )
    await settled(service.database)
    for (const key of keys) {
      assert.deepEqual(
        done.filter((id) => id.startsWith(key)),
        Array.from({ length: 40 }, (_, n) => `${key}${n}`),
      )
    }
    assert.equal((await effects()).length, 200)
  })

  test('the next waits while one is processed or retried; other keys and events without a key do not', async () => {
    let let1Go = (): void => undefined
    const gate = new Promise<void>((resolve) => (let1Go = resolve))
    let attempts = 0
    current = {
      orderBy: keyOf,
      async handle(event, context) {
        if (idOf(event) === 'first' && ++attempts === 1) throw new Error('at first')
        if (idOf(event) === 'first') await gate
        await work(event, context)
      },
    }
    await post('first', 'k')
    await post('second', 'k')
    await post('other', 'l')
    await post('free')
    await eventually(async () => {
      const { other, free } = await statuses()
      return other === 'processed' && free === 'processed' && attempts === 2
    })
    const { first, second } = await statuses()
    assert.deepEqual({ first, second }, { first: 'pending', second: 'blocked' })
    let1Go()
    await settled(service.database)
    assert.deepEqual(
      done.filter((id) => id === 'first' || id === 'second'),
      ['first', 'second'],
    )
  })

  test('after a final failure the next is processed; a reprocessed event waits for the current one', async () => {
    let broken = true
    let hold = (): void => undefined
    const held = new Promise<void>((resolve) => (hold = resolve))
    current = {
      orderBy: keyOf,
      async handle(event, context) {
        if (idOf(event) === 'first' && broken) failAlways()
        if (idOf(event) === 'third') await held
        await work(event, context)
      },
    }
    await post('first', 'k')
    await post('second', 'k')
    await eventually(() => done.includes('second'))
    broken = false
    await post('third', 'k')
    const { id } = await rowIn(service, 'events', { event_id: `${prefix}first` })
    const answer = await service.admin(`/events/${id}/reprocess`, { method: 'POST' })
    assert.equal(answer.status, 202)
    assert.equal(((await answer.json()) as { status: string }).status, 'blocked')
    hold()
    await settled(service.database)
    assert.deepEqual(done, ['second', 'third', 'first'])
  })

  test('concurrent events of one key are processed one by one, each once', async () => {
    let running = 0
    let most = 0
    current = {
      orderBy: () => 7,
      async handle(event, context) {
        most = Math.max(most, ++running)
        await work(event, context).finally(() => (running -= 1))
      },
    }
    await Promise.all(Array.from({ length: 60 }, (_, n) => post(`e${n}`)))
    await settled(service.database)
    assert.equal(most, 1)
    assert.equal((await effects()).length, 60)
  })

  test('a duplicate of the first neither releases nor blocks the next', async () => {
    let let1Go = (): void => undefined
    const gate = new Promise<void>((resolve) => (let1Go = resolve))
    current = {
      orderBy: keyOf,
      async handle(event, context) {
        if (idOf(event) === 'first') await gate
        await work(event, context)
      },
    }
    await post('first', 'k')
    await post('second', 'k')
    await post('first', 'k')
    assert.deepEqual(await statuses(), { first: 'pending', second: 'blocked' })
    let1Go()
    await settled(service.database)
    await post('first', 'k')
    await post('third', 'k')
    await settled(service.database)
    assert.deepEqual(done, ['first', 'second', 'third'])
  })

  test('a failing orderBy loses no event, and is logged', async () => {
    current = { orderBy: failAlways, handle: work }
    await post('a')
    await post('b')
    await settled(service.database)
    assert.deepEqual(done, ['a', 'b'])
    assert.ok(lines.some((line) => line.includes('orderBy failed')))
  })

  test('a key may have any length and characters', async () => {
    current = { orderBy: keyOf, handle: work }
    const keys = ['\0', '\ud800', 'é'.repeat(5_000), '']
    for (const [index, key] of keys.entries()) {
      await post(`${index}a`, key)
      await post(`${index}b`, key)
    }
    await settled(service.database)
    assert.equal(done.length, 8)
  })
})

test('an orderBy that is not a function stops the start', async () => {
  await assert.rejects(
    startTestService(engines[0]!, {
      config: { receiving: { handlers: { a: { handle: () => undefined, orderBy: 'id' as never } } } },
    }),
    /orderBy that is not a function/,
  )
})
