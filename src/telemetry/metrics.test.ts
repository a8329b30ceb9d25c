import assert from 'node:assert/strict'
import performance from 'node:perf_hooks'
import { test } from 'node:test'
import { Metrics } from './metrics.ts'

test('measuring the event loop lag does not wake an idle process a hundred times a second', (t) => {
  const monitor = t.mock.method(performance, 'monitorEventLoopDelay')
  new Metrics().collectProcess()
  assert.deepEqual(
    monitor.mock.calls.map(({ arguments: [options] }) => options),
    [{ resolution: 100 }],
  )
})
