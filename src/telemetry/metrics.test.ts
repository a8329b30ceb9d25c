import assert from 'node:assert/strict'
import performance from 'node:perf_hooks'
import { test } from 'node:test'
import { Metrics } from './metrics.ts'

test('an idle process is not woken a hundred times a second for the lag of its event loop', (t) => {
  const monitor = t.mock.method(performance, 'monitorEventLoopDelay')
  new Metrics().collectProcess()
  assert.deepEqual(
    monitor.mock.calls.map(({ arguments: [options] }) => options),
    [{ resolution: 100 }],
  )
})
