import assert from 'node:assert/strict'
import performance from 'node:perf_hooks'
import { test } from 'node:test'
import type { Metrics } from './metrics.ts'

test('one timer measures the event loop for all services of a process, and wakes it ten times a second', async (t) => {
  const monitor = t.mock.method(performance, 'monitorEventLoopDelay')
  // A copy of the module, in whose process no service has started yet.
  const copy = './metrics.ts?copy'
  const copied = (await import(copy)) as { Metrics: new () => Metrics }
  for (const metrics of [new copied.Metrics(), new copied.Metrics()]) {
    metrics.collectProcess()
    assert.match(await metrics.registry.metrics(), /^postern_nodejs_eventloop_lag_mean_seconds /m)
  }
  assert.deepEqual(
    monitor.mock.calls.map(({ arguments: [options] }) => options),
    [{ resolution: 100 }],
  )
})
