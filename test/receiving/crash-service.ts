// A whole service in a process of its own, to be killed by tests, or by its handlers.
import { EventEmitter } from 'node:events'
import { readEnvironment } from '../../src/config/environment.ts'
import { reportUncaught } from '../../src/cli/serve.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { writeEffect } from './harness.ts'

const log = createLog(process.env['CRASH_SERVICE_LOG'] ?? 'fatal')
let mayThrow = false
const configuration = readEnvironment(process.env)
const service = await startService({
  configuration,
  log,
  config: {
    receiving: {
      handlers: {
        work: async (event, { tx, emit }) => {
          await writeEffect(tx, event.id, event.attempt)
          // Leaves a moment between the first write and the commit, for the kill to fall into.
          await new Promise((resolve) => setTimeout(resolve, 3))
          emit({ type: 'work.done', data: { of: event.id }, id: `done-${event.id}` })
        },
        // It ends when the test says so; the test tells processes apart by the message.
        stuck: async (event, { tx, signal }) => {
          process.send?.({ begun: event.id })
          await new Promise((resolve, reject) => {
            process.once('message', resolve)
            signal.addEventListener('abort', () => reject(signal.reason as Error))
          })
          await writeEffect(tx, event.id, event.attempt)
        },
        // Each throws where nothing catches it, once its promise is pending or resolved.
        'throws.timer': () => new Promise(() => setTimeout(() => thrown('timer'), 1)),
        'throws.emitter': () =>
          new Promise(() => setImmediate(() => new EventEmitter().emit('error', new Error('emitter')))),
        'throws.late': (event) => {
          const timer = setInterval(() => {
            if (!mayThrow) return
            clearInterval(timer)
            thrown(`late ${event.id}`)
          }, 5)
        },
        'throws.rejected': () => {
          void Promise.resolve().then(() => thrown('rejected'))
        },
        'slow.x': async () => {
          await new Promise((resolve) => setTimeout(resolve, 500))
        },
        // Ends the process when the test knows that it ran.
        'poison.exit': async (event) => {
          await new Promise<void>(() => process.send?.({ begun: event.id }, () => process.exit(7)))
        },
      },
    },
  },
})
reportUncaught({ service, log, errors: process, exit: (code) => process.exit(code) })
process.on('message', (message) => {
  mayThrow = message === 'late'
  if (message === 'throw') setTimeout(() => thrown('from no handler'), 1)
})
process.send?.({ baseUrl: service.baseUrl })

function thrown(message: string): never {
  throw new Error(message)
}
