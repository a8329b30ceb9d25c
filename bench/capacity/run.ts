// `npm run capacity`: how many cells a load needs, by simulating a day second by second from the costs that `npm run bench -- cost` measured.
//   npm run capacity
//   npm run capacity -- --events 1e8 --received 0.2 --peak 4 --cores 8 --seed 3
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { costNames, costUnits } from '../cost.ts'
import type { Result } from '../report/results.ts'
import { readOptions } from '../../test/harness/script-options.ts'
import { defaultPrimary, limitOf, mixOf, type Cost, type Primary } from './cost.ts'
import { simulate, type Simulated } from './simulate.ts'
import { daySeconds, defaults, type Workload } from './workload.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    events: { type: 'string', default: String(defaults.eventsPerDay) },
    received: { type: 'string', default: String(defaults.received) },
    owners: { type: 'string', default: String(defaults.owners) },
    peak: { type: 'string', default: String(defaults.peak) },
    cores: { type: 'string', default: String(defaultPrimary.cores) },
    'wal-mb': { type: 'string', default: String(defaultPrimary.walBytesPerSecond / 1e6) },
    syncs: { type: 'string', default: String(defaultPrimary.syncsPerSecond) },
    outage: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
})

function numberOf(name: keyof typeof values, least: number, most: number): number {
  const value = Number(values[name])
  if (!(value >= least && value <= most))
    throw new RangeError(`--${name} takes a number from ${least} to ${most}`)
  return value
}

const workload: Workload = {
  ...defaults,
  eventsPerDay: numberOf('events', 1e4, 1e11),
  received: numberOf('received', 0, 1),
  owners: numberOf('owners', 1, 1e6),
  peak: numberOf('peak', 1, 10),
}
const primary: Primary = {
  cores: numberOf('cores', 1, 1024),
  walBytesPerSecond: numberOf('wal-mb', 1, 1e5) * 1e6,
  syncsPerSecond: numberOf('syncs', 1, 1e6),
}
const outage = numberOf('outage', 0, 59)
const seed = numberOf('seed', 0, 2 ** 32 - 1)

/** The share of what a primary takes that is planned for. The rest is for vacuum, backups, lists and a replica's catching up. */
const planned = 0.6

function readCosts(): { received: Cost; delivered: Cost; at: string } {
  const file = join(import.meta.dirname, '..', 'results', 'cost.json')
  if (!existsSync(file)) throw new Error('bench/results/cost.json is not there: run `npm run bench -- cost`')
  const { figures, at } = JSON.parse(readFileSync(file, 'utf8')) as Result
  const read = (name: string, key: keyof Cost): number => {
    const found = figures.find((one) => one.name === name && one.unit === costUnits[key])
    if (!found) throw new Error(`bench/results/cost.json has no "${name}" in ${costUnits[key]}`)
    return found.median
  }
  const costOf = (name: string): Cost => ({
    posternMs: read(name, 'posternMs'),
    postgresMs: read(name, 'postgresMs'),
    walBytes: read(name, 'walBytes'),
    syncs: read(name, 'syncs'),
  })
  return { received: costOf(costNames.received), delivered: costOf(costNames.delivered), at }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US')
const seconds = (value: number): string =>
  value < 0.0995 ? `${(value * 1000).toFixed(0)} ms` : `${value.toFixed(1)} s`

const { received, delivered, at } = readCosts()
const cost = mixOf(received, delivered, workload.received)
const limit = limitOf(cost, primary)
console.log(
  `${whole(workload.eventsPerDay)} events a day (${Math.round(workload.received * 100)} % received, the rest delivered), ${whole(workload.eventsPerDay / daySeconds)} a second on average; costs measured on ${at.slice(0, 10)}.`,
)
console.log(
  `One primary with ${primary.cores} cores ends at ${whole(limit.perSecond)} events a second, by its ${limit.of}; ${whole(limit.perSecond * planned)} are planned for.\n`,
)
console.log(
  '| cells | busiest minute of a cell | half wait at most | 99 of 100 | longest | left at the end of the day |',
)
console.log('|---|---|---|---|---|---|')
let fitting: { cells: number; day: Simulated } | undefined
const least = Math.max(1, Math.floor((workload.eventsPerDay / daySeconds / limit.perSecond) * 0.9))
for (let cells = least; fitting === undefined && cells < least * 20 + 20; cells += 1) {
  const day = simulate({ workload, cells, perSecond: limit.perSecond, outage, seed })
  const { p50, p99, longest } = day.waited
  console.log(
    `| ${cells} | ${Math.round(day.busiest * 100)} % | ${seconds(p50)} | ${seconds(p99)} | ${seconds(longest)} | ${whole(day.left)} |`,
  )
  if (day.busiest <= planned) fitting = { cells, day }
}
if (fitting === undefined) {
  console.log('\nNo number of cells fits: one owner alone is more than a cell takes.')
} else {
  const { cells, day } = fitting
  const cores = (day.peakPerSecond * cost.posternMs) / 1000 / planned
  console.log(
    `\n${cells} cells: ${whole(day.peakPerSecond)} events a second in the busiest minute, which want ${Math.ceil(cores)} cores for Postern in all; ${((workload.eventsPerDay * cost.walBytes) / 1e12).toFixed(1)} TB of write-ahead log a day. The largest owner has ${whole(day.largestOwnerPerSecond)} a second.`,
  )
}
