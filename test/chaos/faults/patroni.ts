import { PatroniCluster } from '../cluster/patroni.ts'
import type { World } from '../world.ts'
import { last, type Fault } from './fault.ts'

function clusterOf({ topology }: World): PatroniCluster {
  if (!(topology instanceof PatroniCluster)) throw new Error('there is no Patroni')
  return topology
}

/** Waits for a primary, and says how long there was none. */
async function untilWritable(cluster: PatroniCluster, since: number): Promise<string> {
  await cluster.writable()
  return `a primary took writes after ${((performance.now() - since) / 1000).toFixed(1)} s`
}

const prepare = (world: World): Promise<void> => clusterOf(world).healthy()

const switchover: Fault = {
  name: 'patroni-switchover',
  topologies: ['patroni'],
  prepare,
  async run(world) {
    const cluster = clusterOf(world)
    const { name, api } = await cluster.leader()
    const began = performance.now()
    const answer = await fetch(`http://127.0.0.1:${api}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: name }),
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`no switch-over: ${answer.status} ${text}`)
    return untilWritable(cluster, began)
  },
}

const killLeader: Fault = {
  name: 'patroni-kill',
  topologies: ['patroni'],
  prepare,
  async run(world, chance) {
    const cluster = clusterOf(world)
    const leader = await cluster.leader()
    const began = performance.now()
    await cluster.kill(leader)
    const told = await untilWritable(cluster, began)
    await last(chance.ms(0, 3_000))
    leader.program.start()
    return `kill -9 of the leader: ${told}`
  },
}

const stopPatroni: Fault = {
  name: 'patroni-stop',
  topologies: ['patroni'],
  prepare,
  async run(world, chance) {
    const cluster = clusterOf(world)
    const { program } = await cluster.leader()
    const began = performance.now()
    // PostgreSQL runs on, and its Patroni does not know that another one leads.
    program.signal('SIGSTOP')
    try {
      await last(chance.ms(2_000, 30_000))
    } finally {
      program.signal('SIGCONT')
    }
    return untilWritable(cluster, began)
  },
}

const stopEtcd: Fault = {
  name: 'etcd-stop',
  topologies: ['patroni'],
  prepare,
  async run(world, chance) {
    const cluster = clusterOf(world)
    const began = performance.now()
    cluster.etcd.signal('SIGSTOP')
    try {
      await last(chance.ms(2_000, 25_000))
    } finally {
      cluster.etcd.signal('SIGCONT')
    }
    return untilWritable(cluster, began)
  },
}

export const patroniFaults: readonly Fault[] = [switchover, killLeader, stopPatroni, stopEtcd]
