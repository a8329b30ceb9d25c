// A whole service in a process of its own, to be killed by tests, or by its handlers.
import { readEnvironment } from '../../src/config/environment.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { writeEffect } from './harness.ts'

const configuration = readEnvironment(process.env)
const service = await startService({
  configuration,
  log: createLog(process.env['CRASH_SERVICE_LOG'] ?? 'fatal'),
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
process.send?.({ baseUrl: service.baseUrl })
