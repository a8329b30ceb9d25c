// A forgotten await: the handler has returned, its work is committed, and then it emits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineConfig } from '../../src/index.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine, rowsOf, startTestService, each } from '../harness/index.ts'
import { eventually, postWebhook, settled } from './harness.ts'

onEachEngine('emit after the handler has returned', (engine) => {
  test('throws and is logged, before and after the commit', async () => {
    const lines: string[] = []
    const errors: unknown[] = []
    let committed = (): void => undefined
    const config = defineConfig({
      receiving: {
        handlers: {
          'forgotten.*': () => undefined,
          'forgotten.soon': (_event, { emit }) => {
            void Promise.resolve()
              .then(() => undefined)
              .then(() => emit({ type: 'lost.soon', data: {} }))
              .catch((error: unknown) => errors.push(error))
          },
          'forgotten.late': (_event, { emit }) => {
            emit({ type: 'in.time', data: {} })
            const later = new Promise<void>((resolve) => (committed = resolve))
            void later
              .then(() => emit({ type: 'lost.late', data: {} }))
              .catch((error: unknown) => errors.push(error))
          },
        },
      },
    })
    await using service = await startTestService(engine, {
      config,
      parts: { log: createLog('error', { write: (line) => void lines.push(line) }) },
    })
    await postWebhook(service, { id: 'soon', type: 'forgotten.soon' })
    await postWebhook(service, { id: 'late', type: 'forgotten.late' })
    await settled(service.database)
    committed()
    await eventually(() => errors.length === 2)
    for (const type of ['lost.soon', 'lost.late']) {
      assert.ok(
        errors.some((error) => (error as Error).message.includes(`"${type}" after its handler had ended`)),
      )
      assert.ok(lines.some((line) => line.includes(type) && line.includes('was not emitted')))
    }
    const emitted = await rowsOf(service, 'events', { direction: 'emitted' })
    assert.deepEqual(each(emitted, 'type'), ['in.time'])
  })
})
