// A whole service in a process of its own, to be killed by crash.test.ts. Its handler writes a row and emits.
import { readEnvironment } from '../../src/config/environment.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { writeEffect } from './harness.ts'

const configuration = readEnvironment(process.env)
const service = await startService({
  configuration,
  log: createLog('fatal'),
  config: {
    receiving: {
      handlers: {
        work: async (event, { tx, emit }) => {
          await writeEffect(tx, event.id, event.attempt)
          // Leaves a moment between the first write and the commit, for the kill to fall into.
          await new Promise((resolve) => setTimeout(resolve, 3))
          emit({ type: 'work.done', data: { of: event.id }, id: `done-${event.id}` })
        },
        // The first process that gets it never ends it; the test tells this one's from another's by the message.
        stuck: async (event, { tx, signal }) => {
          process.send?.({ begun: event.id })
          if (event.attempt > 1) return writeEffect(tx, event.id, event.attempt)
          await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
        },
      },
    },
  },
})
process.send?.({ baseUrl: service.baseUrl })
