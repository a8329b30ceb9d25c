import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { checkSettings } from './destinations.ts'

test('a destination has ten seconds to validate the settings', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.timers.reset()
    syncBuiltinESMExports()
  })
  const validate = (): Promise<undefined> => new Promise(() => undefined)
  const slow = { title: 'Slow', validate, deliver: () => Promise.resolve({}) }
  const checked = checkSettings(new Map([['slow', slow]]), 'slow', {}, 'all')
  const outcome = checked.then(
    () => 'accepted',
    (error: unknown) => (error as Error).message,
  )
  const after = async (ms: number): Promise<string | undefined> => {
    t.mock.timers.tick(ms)
    return Promise.race([outcome, new Promise<string>((resolve) => setImmediate(resolve, 'waits'))])
  }
  assert.equal(await after(9_999), 'waits')
  assert.equal(await after(1), 'The check of the settings took too long.')
})
