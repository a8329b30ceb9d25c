import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { stopOnSignals } from './serve.ts'

function started() {
  const signals = new EventEmitter()
  const seen: string[] = []
  const stopping = Promise.withResolvers<void>()
  const time = { now: 0 }
  stopOnSignals({
    service: {
      announceStop: (skip) =>
        new Promise((done) =>
          skip?.addEventListener('abort', () => {
            seen.push('announced')
            done()
          }),
        ),
      stop: () => stopping.promise,
    },
    log: { info: () => seen.push('signal'), error: () => seen.push('error') },
    clock: { elapsed: () => time.now },
    signals,
    exit: (code) => seen.push(`exit ${code}`),
  })
  const send = async (at: number, signal = 'SIGTERM'): Promise<void> => {
    time.now = at
    signals.emit(signal, signal)
    await turn()
  }
  return { seen, send, stopping }
}

test('signals within a second are one request: the service stops cleanly', async () => {
  const { seen, send, stopping } = started()
  await send(0)
  await send(1, 'SIGINT')
  await send(900)
  assert.deepEqual(seen, ['signal'])
  await send(2_000)
  await send(2_001)
  assert.deepEqual(seen, ['signal', 'signal', 'announced'])
  stopping.resolve()
  await turn()
  assert.deepEqual(seen.at(-1), 'exit 0')
})

test('a third request ends the process at once', async () => {
  const { seen, send } = started()
  for (const at of [0, 2_000, 4_000]) await send(at)
  assert.deepEqual(seen, ['signal', 'signal', 'announced', 'exit 1'])
})
