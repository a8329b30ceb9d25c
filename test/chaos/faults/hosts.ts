import { eventually } from '../../receiving/harness.ts'
import type { World } from '../world.ts'
import { last, type Draw, type Fault } from './fault.ts'
import { replace } from './replace.ts'

/** Milliseconds from the promotion to the first request that is acknowledged again. */
const longestRefusal = 10_000

/** Restarts all processes with an address that names both servers, past the links. */
async function connectDirectly(world: World, chance: Draw): Promise<void> {
  const { primary, standby } = world.cluster
  const hosts = [primary, standby!].map(({ port }) => `127.0.0.1:${port}`)
  if (chance.is(0.5)) hosts.reverse()
  const url = `postgres://postern@${hosts.join(',')}/postgres?target_session_attrs=read-write`
  for (const process of world.processes)
    await replace(world, process, { ...process.settings, DATABASE_URL: url })
}

/** Restarts all processes with the addresses of their links. */
async function connectByLinks(world: World): Promise<void> {
  world.cluster.lead()
  for (const process of world.processes) {
    const { DATABASE_URL: _, ...settings } = process.settings
    await replace(world, process, settings)
  }
}

/** Promotes the standby, and resolves with the milliseconds until a request is acknowledged. */
async function promote({ cluster, senders }: World): Promise<number> {
  const before = senders!.accepted
  const began = performance.now()
  await cluster.promote()
  await eventually(() => senders!.accepted > before, 'a request is acknowledged', 60_000)
  return performance.now() - began
}

const severalHosts: Fault = {
  name: 'several-hosts',
  async prepare(world, chance) {
    await world.cluster.prepare({ synchronous: true })
    await connectDirectly(world, chance)
  },
  async run(world, chance) {
    const { cluster, findings } = world
    const former = cluster.primary
    try {
      await former.kill()
      const away = await last(chance.ms(500, 4_000))
      const ms = await promote(world)
      if (ms > longestRefusal) findings.push(`the first request was acknowledged ${Math.round(ms)} ms later`)
      const back = chance.is(0.5)
      if (back) {
        // As a standby: it takes connections, and no writes.
        former.follow(cluster.primary.url)
        await former.start()
        await last(chance.ms(500, 4_000))
      }
      return `promoted after ${away}, acknowledging ${(ms / 1000).toFixed(1)} s later${back ? ', the former primary is a standby' : ''}`
    } finally {
      await connectByLinks(world)
      if (former !== cluster.primary) await former.discard()
    }
  },
}

export const hostFaults: readonly Fault[] = [severalHosts]
