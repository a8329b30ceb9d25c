import type { Link } from '../../harness/link.ts'
import type { World } from '../world.ts'
import { everywhere, last, type Draw, type Fault } from './fault.ts'

/** Breaks all paths to the database, or that of one process, and mends them. */
async function breaking(
  { topology }: World,
  chance: Draw,
  ms: number,
  breakLink: (link: Link) => void,
): Promise<string> {
  const one = chance.is(0.4)
  const links = one ? [chance.pick(topology.links)] : topology.links
  for (const link of links) breakLink(link)
  try {
    return `${one ? 'of one process' : 'of all'} for ${await last(ms)}`
  } finally {
    for (const link of links) {
      link.mend()
      link.shape()
    }
  }
}

const cut: Fault = {
  name: 'cut',
  topologies: everywhere,
  run: (world, chance) => breaking(world, chance, chance.ms(0, 6_000), (link) => link.cut()),
}

const silence: Fault = {
  name: 'silence',
  topologies: everywhere,
  async run(world, chance) {
    // With new connections silent too, or as a firewall does that has forgotten those that are there.
    const all = chance.is(0.7)
    const ms = all ? chance.ms(2_000, 25_000) : 0
    return breaking(world, chance, ms, (link) => link.silence(all ? 'new' : undefined))
  },
}

const hold: Fault = {
  name: 'hold',
  topologies: everywhere,
  // The server keeps the sessions, and their locks; what was sent meanwhile arrives.
  run: (world, chance) => breaking(world, chance, chance.ms(2_000, 25_000), (link) => link.hold()),
}

const latency: Fault = {
  name: 'latency',
  topologies: everywhere,
  run(world, chance) {
    const delay = chance.ms(20, 150)
    return breaking(world, chance, chance.ms(3_000, 10_000), (link) => link.shape({ delay }))
  },
}

const bandwidth: Fault = {
  name: 'bandwidth',
  run(world, chance) {
    const bytes = chance.ms(50_000, 200_000)
    return breaking(world, chance, chance.ms(3_000, 10_000), (link) => link.shape({ bandwidth: bytes }))
  },
}

const silentFailover: Fault = {
  name: 'silence-elsewhere',
  prepare: ({ cluster }) => cluster.prepare({ synchronous: true }),
  async run({ cluster }, chance) {
    for (const link of cluster.links) link.silence('new')
    const silent = await last(chance.ms(500, 5_000))
    const former = await cluster.promote()
    cluster.lead()
    // The connections that were there stay silent for good.
    for (const link of cluster.links) link.mend()
    await former.discard()
    return `another primary after ${silent}`
  },
}

export const pathFaults: readonly Fault[] = [cut, silence, hold, latency, bandwidth, silentFailover]
