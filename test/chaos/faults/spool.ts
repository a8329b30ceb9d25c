import { join } from 'node:path'
import type { Link } from '../../harness/link.ts'
import { settled } from '../settled.ts'
import type { World } from '../world.ts'
import { everywhere, last, type Fault } from './fault.ts'

/** Milliseconds from the return of the database until a spool is to be empty. */
const emptyWithin = 15_000

const ways: Record<string, (link: Link) => void> = {
  cut: (link) => link.cut(),
  silent: (link) => link.silence('new'),
  held: (link) => link.hold(),
}

/** Restarts the processes with a spool, which they keep: what lies in it is theirs to move. */
async function prepare(world: World): Promise<void> {
  for (const [index, process] of world.processes.entries()) {
    if (process.settings['SPOOL_URL']) continue
    await process.kill()
    process.settings = { ...process.settings, SPOOL_URL: `file:${join(world.folder, `spool-${index}.db`)}` }
    await process.start()
    // Each take-over must take less than the limit, so the next process is killed only when what waited for this one is done: what was
    // there at the start, and then what came until the take-over.
    await settled(world)
    await settled(world)
  }
}

const spool: Fault = {
  name: 'spool',
  topologies: everywhere,
  prepare,
  async run({ topology, processes, demands, findings, spoolsEmpty }, chance) {
    const way = chance.pick(Object.keys(ways))
    const acknowledged = demands.begin('spool', ['webhook'])
    for (const link of topology.links) ways[way]!(link)
    let away: string
    let lying: number
    try {
      away = await last(chance.ms(3_000, 20_000))
      const reports = await Promise.all(processes.map((process) => process.spool()))
      lying = Math.max(...reports.map((events) => events ?? 0))
      if (reports.includes(undefined)) findings.push('spool: a process does not acknowledge webhooks')
    } finally {
      acknowledged()
      for (const link of topology.links) link.mend()
    }
    const began = performance.now()
    if (!(await spoolsEmpty(emptyWithin))) findings.push(`spool: not empty after ${emptyWithin} ms`)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    return `all paths ${way} for ${away}, ${lying} lay there, empty after ${seconds} s`
  },
}

export const spoolFaults: readonly Fault[] = [spool]
