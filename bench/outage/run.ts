// `npm run outage`: webhooks at a constant rate while PostgreSQL is away, then the drain of the spool beside live ones, and whether each
// that was acknowledged has one event and one effect.
//   npm run outage                                          two minutes without a database, a spool in a file
//   npm run outage -- --minutes 60 --json FILE
import { writeFileSync } from 'node:fs'
import { killAll } from '../harness/processes.ts'
import { removeFolders } from '../harness/databases.ts'
import { readOptions } from '../../test/harness/script-options.ts'
import { carryOut, type Plan } from './phases.ts'
import { describe, faultsOf } from './verdict.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    minutes: { type: 'string', default: '2' },
    rate: { type: 'string', default: '500' },
    live: { type: 'string', default: '500' },
    bytes: { type: 'string', default: '1024' },
    connections: { type: 'string', default: '64' },
    unhandled: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})

function numberOf(name: 'minutes' | 'rate' | 'live' | 'bytes' | 'connections', most: number): number {
  const value = Number(values[name])
  if (!(value > 0 && value <= most)) throw new RangeError(`--${name} takes a number up to ${most}`)
  return value
}

function readPlan(): Plan {
  return {
    minutes: numberOf('minutes', 24 * 60),
    rate: numberOf('rate', 20_000),
    live: numberOf('live', 20_000),
    bytes: numberOf('bytes', 100_000),
    connections: numberOf('connections', 1_000),
    handled: !values.unhandled,
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll()
    removeFolders()
    // PostgreSQL's own handler, where one runs, ends this process once the server is down.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  })
}

try {
  const outcome = await carryOut(readPlan(), (line) => console.error(line))
  console.log(describe(outcome))
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(outcome, undefined, 2)}\n`)
  const faults = faultsOf(outcome)
  for (const fault of faults) console.log(`FAULT: ${fault}`)
  process.exitCode = faults.length > 0 ? 1 : 0
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error)
  process.exitCode = 1
}
