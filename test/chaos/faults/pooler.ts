import { PooledServer } from '../cluster/pooled.ts'
import type { World } from '../world.ts'
import { last, type Fault } from './fault.ts'

function pooledOf({ topology }: World): PooledServer {
  if (!(topology instanceof PooledServer)) throw new Error('there is no PgBouncer')
  return topology
}

const killPooler: Fault = {
  name: 'pooler-kill',
  topologies: ['pgbouncer'],
  async run(world, chance) {
    const pooled = pooledOf(world)
    await pooled.pooler.end(chance.is(0.5) ? 'SIGKILL' : 'SIGTERM')
    const away = await last(chance.ms(0, 5_000))
    await pooled.startPooler()
    return `away for ${away}`
  },
}

const stopPooler: Fault = {
  name: 'pooler-stop',
  topologies: ['pgbouncer'],
  async run(world, chance) {
    const { pooler } = pooledOf(world)
    pooler.signal('SIGSTOP')
    try {
      return await last(chance.ms(1_000, 15_000))
    } finally {
      pooler.signal('SIGCONT')
    }
  },
}

const restartServer: Fault = {
  name: 'pooled-restart',
  topologies: ['pgbouncer'],
  async run(world, chance) {
    const { primary } = pooledOf(world)
    await primary.stop()
    const away = await last(chance.ms(0, 5_000))
    await primary.start()
    return `away for ${away}`
  },
}

export const poolerFaults: readonly Fault[] = [killPooler, stopPooler, restartServer]
