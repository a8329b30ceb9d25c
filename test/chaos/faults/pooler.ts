import { PooledServer } from '../cluster/pooled.ts'
import type { World } from '../world.ts'
import { last, type Draw, type Fault } from './fault.ts'
import { replace } from './replace.ts'

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

async function disturb(pooled: PooledServer, chance: Draw): Promise<string> {
  if (chance.is(0.5)) return `${await pooled.endSessions()} sessions ended`
  await pooled.pooler.end(chance.is(0.5) ? 'SIGKILL' : 'SIGTERM')
  const away = await last(chance.ms(0, 5_000))
  await pooled.startPooler()
  return `the pooler was away for ${away}`
}

const pooled: Fault = {
  name: 'pooled',
  topologies: ['pgbouncer'],
  async run(world, chance) {
    const server = pooledOf(world)
    const process = world.processes[0]!
    const DATABASE_URL = server.transactionsUrl(process.link)
    const { DATABASE_SESSION_URL: _, ...others } = process.settings
    const refused = await replace(world, process, { ...others, DATABASE_URL }).then(
      () => 'it started',
      (error: Error) => error.message,
    )
    if (!refused.includes('set DATABASE_SESSION_URL to an address'))
      throw new Error(`without DATABASE_SESSION_URL the start was not refused: ${refused}`)
    // It keeps these settings, so that the faults that follow test both modes of the pooler.
    process.settings = { ...others, DATABASE_URL, DATABASE_SESSION_URL: server.primary.serviceUrl }
    await process.start()
    await last(chance.ms(500, 3_000))
    return `refused without DATABASE_SESSION_URL, then ${await disturb(server, chance)}`
  },
}

export const poolerFaults: readonly Fault[] = [killPooler, stopPooler, restartServer, pooled]
