// The database is taken back to a moment at which this process had claimed events that it has processed since.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onPostgres, postgres, scoped, startTestService } from '../harness/index.ts'
import { copyDatabase } from '../harness/restored-database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'

test('events whose claims a restore removed are processed at once', onPostgres, async () => {
  await using home = await postgres!.createDatabase()
  const setUp = await openDatabase(home.url)
  await createEffects(setUp)
  await setUp.close()
  let begun = 0
  let go: () => void = () => undefined
  const held = new Promise<void>((resolve) => (go = resolve))
  await using service = await startTestService(postgres!, {
    databaseUrl: home.url,
    // The lease lasts longer than this test may.
    env: { HANDLER_TIMEOUT: '600' },
    handlers: {
      async work(event, { tx }) {
        begun += 1
        await held
        await writeEffect(tx, event.id)
      },
    },
  })
  const effects = async (): Promise<string[]> => {
    await using database = scoped(await openDatabase(home.url))
    return await readEffects(database)
  }
  try {
    const ids = ['one', 'two', 'three', 'four']
    for (const id of ids) assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200)
    await eventually(() => begun >= ids.length, 'all are begun')
    await using earlier = scoped(await copyDatabase(home.url))
    await eventually(async () => (await service.fetch('/readyz')).status === 200, 'it is ready')
    go()
    await eventually(async () => (await effects()).length === ids.length, 'all are handled')
    await earlier.restore()
    const all = async (): Promise<boolean> => new Set(await effects().catch(() => [])).size === ids.length
    await eventually(all, 'all are handled again')
    const again = await effects()
    assert.equal(again.length, ids.length, 'each once')
  } finally {
    go()
  }
})

test('an event whose claim is lost is not started again while its handler runs', onPostgres, async () => {
  await using home = await postgres!.createDatabase()
  const setUp = await openDatabase(home.url)
  await createEffects(setUp)
  await setUp.close()
  const running = new Map<string, number>()
  const overlapping: string[] = []
  let go: () => void = () => undefined
  const held = new Promise<void>((resolve) => (go = resolve))
  await using service = await startTestService(postgres!, {
    databaseUrl: home.url,
    env: { HANDLER_TIMEOUT: '600' },
    handlers: {
      async work(event, { tx, signal }) {
        const others = running.get(event.id) ?? 0
        if (others > 0) overlapping.push(event.id)
        running.set(event.id, others + 1)
        try {
          const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
          if (event.id !== 'later') await Promise.race([held, aborted])
          signal.throwIfAborted()
          await writeEffect(tx, event.id)
        } finally {
          running.set(event.id, running.get(event.id)! - 1)
        }
      },
    },
  })
  try {
    for (const id of ['one', 'two'])
      assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200)
    const atWork = (): boolean => ['one', 'two'].every((id) => running.get(id) === 1)
    await eventually(atWork, 'both are begun')
    await using earlier = scoped(await copyDatabase(home.url))
    const copy = await openDatabase(earlier.url)
    assert.equal(copy.engine, 'postgres')
    if (copy.engine === 'postgres')
      await copy.pool.query('update event_queue set claim = null, leased_until = null')
    await copy.close()
    await eventually(async () => (await service.fetch('/readyz')).status === 200 && atWork(), 'both run')
    await earlier.restore()
    await eventually(
      async () => (await postWebhook(service, { id: 'later', type: 'work' })).status === 200,
      'it is stored',
    )
    const direct = await openDatabase(home.url)
    try {
      await eventually(async () => (await readEffects(direct)).includes('later'), 'it is handled')
      go()
      await eventually(async () => (await readEffects(direct)).length === 3, 'all are handled')
    } finally {
      await direct.close()
    }
    assert.deepEqual(overlapping, [])
  } finally {
    go()
  }
})
