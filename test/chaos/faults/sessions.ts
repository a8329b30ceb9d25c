import pg from 'pg'
import { setTimeout as wait } from 'node:timers/promises'
import { signal } from '../cluster/server.ts'
import type { Manner } from '../load/item.ts'
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

/** Milliseconds in which no session may be left from the time when the server was read-only. */
const replacedWithin = 8_000

const readOnlyRole: Fault = {
  name: 'read-only-role',
  async run(world, chance) {
    const { primary } = world.cluster
    await primary.query('alter role postern set default_transaction_read_only = on')
    await terminateAll(world)
    let lasted: string
    try {
      lasted = await last(chance.ms(1_000, 12_000))
    } finally {
      await primary.query('alter role postern reset default_transaction_read_only')
    }
    const [since] = await primary.query<{ at: string }>('select clock_timestamp()::text as at')
    await wait(replacedWithin)
    // Behind it, sessions are writable. Those from before stay read-only until they are closed.
    const left = await primary.query<{ name: string }>(
      `select application_name as name ${ofService} and backend_start < $1::timestamptz`,
      [since!.at],
    )
    if (left.length > 0)
      world.findings.push(`read-only sessions are left: ${left.map(({ name }) => name).join(', ')}`)
    return lasted
  },
}

/** Lets handlers do something besides, for some seconds. */
async function withManner({ senders }: World, manner: Manner, ms: number): Promise<string> {
  senders!.manner = manner
  try {
    return await last(ms)
  } finally {
    senders!.manner = undefined
  }
}

const terminateRestart: Fault = {
  name: 'terminate-restart',
  async run(world, chance) {
    // Handlers have their transactions open when the sessions end.
    await withManner(world, 'holds', chance.ms(1_000, 3_000))
    let ended = 0
    for (let time = 0; time < 4; time += 1) {
      ended += await terminateAll(world)
      await wait(chance.ms(200, 1_000))
    }
    await world.cluster.primary.stop('immediate')
    const away = await last(chance.ms(500, 1_500))
    await world.cluster.primary.start()
    return `${ended} sessions in 4 times, then away for ${away}`
  },
}

const contention: Fault = {
  name: 'contention',
  run: (world, chance) => withManner(world, 'locks', chance.ms(5_000, 15_000)),
}

const settings: Fault = {
  name: 'settings',
  run: (world, chance) => withManner(world, 'settings', chance.ms(3_000, 8_000)),
}

const sleeping: Fault = {
  name: 'sleeping',
  async run(world, chance) {
    const lasted = await withManner(world, 'sleeps', chance.ms(3_000, 8_000))
    // The limit of the handlers is a second.
    await wait(4_000)
    const left = await world.topology.query(
      `select pid ${ofService} and state <> 'idle' and query like '%pg_sleep%' and query_start < now() - interval '3 s'`,
    )
    if (left.length > 0) world.findings.push(`${left.length} statements go on behind their limit`)
    return lasted
  },
}

export const sessionFaults: readonly Fault[] = [
  terminate,
  stopBackends,
  connections,
  readOnly,
  readOnlyRole,
  terminateRestart,
  contention,
  settings,
  sleeping,
]
