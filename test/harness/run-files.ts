// Runs test files in this process, as `node --test --test-isolation=none` does: run-files.ts TIMEOUT FILES...
//
// It does not follow promises. node:test does so with a hook on all that is asynchronous, to know which test an error that nobody
// caught belongs to, and promises are a tenth of the processor time of tests that call a service. Without them such an error still
// fails the test, or else the process, and is reported with the test that had begun last.
import { createHook, type AsyncHook } from 'node:async_hooks'
import { run } from 'node:test'
import { inspect } from 'node:util'
import report from './reporter.ts'
import { readCurrentTest, recordFailure } from './results.ts'

type Hook = AsyncHook & Record<symbol, unknown>

/** Makes a call whose hooks are as if they were created with `trackPromises: false`. */
function withoutPromises<T>(call: () => T): T {
  const prototype = Object.getPrototypeOf(createHook({})) as { enable: (this: Hook) => Hook }
  const { enable } = prototype
  prototype.enable = function () {
    const flag = Object.getOwnPropertySymbols(this).find(
      ({ description }) => description === 'kNoPromiseHook',
    )
    if (flag) this[flag] = true
    return enable.call(this)
  }
  try {
    return call()
  } finally {
    prototype.enable = enable
  }
}

function noteUncaught(error: unknown): void {
  const tally = process.env['TEST_TALLY_FILE']
  if (tally === undefined) return
  const name = `nobody caught an error, during "${readCurrentTest(tally)}" or before`
  recordFailure(tally, { file: 'unknown file', name, error: inspect(error) })
}

const [, , timeout, ...files] = process.argv
const events = withoutPromises(() => run({ files, isolation: 'none', timeout: Number(timeout) }))
// Beside the listeners of node:test, which let the process fail.
process.on('uncaughtException', noteUncaught).on('unhandledRejection', noteUncaught)
events.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1
})
events.compose(report).pipe(process.stdout)
