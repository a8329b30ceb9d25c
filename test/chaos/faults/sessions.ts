import pg from 'pg'
import { setTimeout as wait } from 'node:timers/promises'
import { signal } from '../cluster/server.ts'
import type { World } from '../world.ts'
import { everywhere, last, type Fault } from './fault.ts'

const ofService = `from pg_stat_activity where usename = 'postern'`

async function terminateAll({ topology }: World): Promise<number> {
  const [row] = await topology.query<{ count: string }>(
    `select count(pg_terminate_backend(pid)) ${ofService}`,
  )
  return Number(row!.count)
}

const terminate: Fault = {
  name: 'terminate',
  topologies: everywhere,
  async run(world, chance) {
    const times = 1 + chance.below(4)
    let ended = 0
    for (let time = 0; time < times; time += 1) {
      if (time > 0) await wait(chance.ms(0, 1_500))
      ended += await terminateAll(world)
    }
    return `${ended} sessions in ${times} times`
  },
}

const stopBackends: Fault = {
  name: 'stop-backends',
  needs: 'Linux',
  async run({ cluster }, chance) {
    const rows = await cluster.primary.query<{ pid: number }>(`select pid ${ofService} order by pid`)
    const pids = rows.map(({ pid }) => pid).filter(() => chance.is(0.4))
    for (const pid of pids) signal(pid, 'SIGSTOP')
    try {
      return `${pids.length} of ${rows.length} for ${await last(chance.ms(2_000, 15_000))}`
    } finally {
      for (const pid of pids) signal(pid, 'SIGCONT')
    }
  },
}

const connections: Fault = {
  name: 'connections',
  async run(world, chance) {
    const { serviceUrl } = world.cluster.primary
    const taken: pg.Client[] = []
    const takeAll = async (): Promise<void> => {
      for (;;) {
        const client = new pg.Client({ connectionString: serviceUrl, connectionTimeoutMillis: 5_000 })
        client.on('error', () => undefined)
        try {
          await client.connect()
        } catch {
          // The server has no room any more.
          return
        }
        taken.push(client)
      }
    }
    try {
      await takeAll()
      // What the service loses now it does not get back.
      if (chance.is(0.5)) {
        await terminateAll(world)
        await takeAll()
      }
      return `${taken.length} taken for ${await last(chance.ms(2_000, 10_000))}`
    } finally {
      await Promise.all(taken.map((client) => client.end().catch(() => undefined)))
    }
  },
}

const readOnly: Fault = {
  name: 'read-only',
  async run({ cluster }, chance) {
    await cluster.primary.set('default_transaction_read_only', 'on')
    try {
      return await last(chance.ms(1_000, 12_000))
    } finally {
      await cluster.primary.set('default_transaction_read_only')
    }
  },
}

export const sessionFaults: readonly Fault[] = [terminate, stopBackends, connections, readOnly]
