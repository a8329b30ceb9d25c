// The service that is fuzzed, in a process of its own: with a source of every kind, and little patience.
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readEnvironment } from '../../src/config/environment.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { sources } from './sources.ts'

export interface Measured {
  /** Bytes. */
  resident: number
  held: number
  /** Open files and sockets; only Linux tells. */
  files: number
  /** What keeps the loop alive. */
  handles: number
}

export type FromTarget = { port: number } | { fault: string } | { measured: Measured }

const say = (message: FromTarget): void => void process.send?.(message)
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

// Every line of the level is a fault: a request that could not be served is no error.
const log = createLog('error', { write: (line: string) => say({ fault: line }) })
const service = await startService({
  configuration: readEnvironment(process.env),
  log,
  config: {
    receiving: {
      sources: Object.fromEntries(sources.map(({ name, scheme }) => [name, scheme])),
      handlers: {
        'fuzz.1': () => undefined,
        'fuzz.2': (_event, { emit }) => emit({ type: 'done', data: 1 }),
      },
    },
  },
  timeouts: { headers: 300, request: 600, check: 50, stillness: 1_500 },
})
process.on('message', (message) => {
  if (message === 'stop') void service.stop(5_000).then(() => process.disconnect?.())
  if (message !== 'measure') return
  collect()
  const { rss: resident, heapUsed, external } = process.memoryUsage()
  const files = process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
  const handles = process.getActiveResourcesInfo().length
  say({ measured: { resident, held: heapUsed + external, files, handles } })
})
say({ port: Number(new URL(service.baseUrl).port) })
