import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Chance } from '../harness/chance.ts'
import { adminKey } from './postern/keys.ts'
import { eventually } from '../receiving/harness.ts'
import { findBinaries } from '../harness/postgres-binaries.ts'
import { Cluster } from './cluster/cluster.ts'
import { PatroniCluster } from './cluster/patroni.ts'
import { PooledServer } from './cluster/pooled.ts'
import type { Topology } from './cluster/topology.ts'
import { Demands } from './load/demands.ts'
import { Follower } from './load/follower.ts'
import { Ledger } from './load/ledger.ts'
import { Senders } from './load/senders.ts'
import { startSinks, type Sinks, type Subscribe } from './load/sinks.ts'
import { PosternProcess } from './postern/process.ts'
import { Readiness } from './readiness.ts'
import { Watch } from './watch.ts'

const topologies = { pair: Cluster, patroni: PatroniCluster, pgbouncer: PooledServer }
export type TopologyName = keyof typeof topologies

export function isTopology(name: string): name is TopologyName {
  return name in topologies
}

export interface WorldOptions {
  /** What stands behind the paths of the service. Default: a primary and its standby. */
  topology?: TopologyName
  seed: number
  /** Processes of the service. */
  processes: number
  /** Requests a second. */
  rate: number
  /** The checkout whose service is started. */
  project: string
  /** The folder of PostgreSQL's programs, instead of the package's. */
  binaries?: string | undefined
  /** Milliseconds after which what has no effect counts as stalled. Default 8 s. */
  stalledAfter?: number
  /** Where the logs of the processes are written; a temporary folder unless given. */
  logs?: string | undefined
}

/** A database, processes of the service on it, what they are asked and who gets what they send. */
export class World implements AsyncDisposable {
  readonly topology: Topology
  readonly processes: PosternProcess[] = []
  readonly ledger: Ledger
  readonly folder: string
  readonly runsFile: string
  readonly followers: Follower[] = []
  readonly watch: Watch
  /** What was seen that must not be, beside what the ledger tells. */
  readonly findings: string[] = []
  readonly demands = new Demands(this.findings)
  readonly readiness = new Readiness(this.processes, this.findings)
  /** The faults until now, with the times at which they began. */
  readonly faults: { name: string; from: number }[] = []
  /** Whether requests go to processes only that say they are ready, as behind a load balancer. */
  balanced = false
  senders: Senders | undefined
  #sinks: Sinks | undefined

  private constructor(folder: string, topology: Topology, ledger: Ledger) {
    this.ledger = ledger
    this.folder = folder
    this.topology = topology
    this.runsFile = join(folder, 'runs.ndjson')
    this.watch = new Watch(topology, ledger)
  }

  static async start(options: WorldOptions): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'postern-chaos-'))
    let world: World | undefined
    try {
      const databases = mkdtempSync(join(folder, 'databases-'))
      const binaries = findBinaries(folder, options.binaries)
      // The servers run as another user than this program, if that is root.
      chmodSync(folder, 0o755)
      if (binaries.user) chownSync(databases, binaries.user.uid, binaries.user.gid)
      const topology = await topologies[options.topology ?? 'pair'].start(binaries, databases)
      world = new World(folder, topology, new Ledger(options.stalledAfter ?? 8_000))
      await world.#begin(options)
      return world
    } catch (error) {
      await world?.[Symbol.asyncDispose]()
      removeFolder(folder)
      throw error
    }
  }

  /** @throws Error when what stands behind the paths is something else than a primary and its standby */
  get cluster(): Cluster {
    if (!(this.topology instanceof Cluster)) throw new Error('there is no server that can be told what to do')
    return this.topology
  }

  /** Addresses of the processes that take requests. */
  readonly addresses = (): string[] =>
    this.processes
      .filter(({ open, ready }) => open && (ready || !this.balanced))
      .map(({ baseUrl }) => baseUrl)

  /** Whether all that lies in spools at this time is in the database within so many milliseconds. */
  readonly spoolsEmpty = async (ms: number): Promise<boolean> => {
    const until = performance.now() + ms
    const waiting = new Set(this.processes.filter(({ settings }) => settings['SPOOL_URL']))
    for (;;) {
      for (const process of waiting) if ((await process.spool()) === 0) waiting.delete(process)
      if (waiting.size === 0) return true
      if (performance.now() > until) return false
      await wait(50)
    }
  }

  /** Ends the load: each sender ends what it is about. */
  async quiet(): Promise<void> {
    await this.senders?.end()
  }

  /** For the end of this program: nothing is waited for. */
  endNow(): void {
    for (const process of this.processes) process.killNow()
    this.topology.killNow()
    removeFolder(this.folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.quiet()
    await Promise.all(this.followers.map((follower) => follower.end()))
    this.watch.stop()
    this.readiness.stop()
    await Promise.all(this.processes.map((process) => process.kill()))
    await this.#sinks?.[Symbol.asyncDispose]()
    await this.topology.end()
    removeFolder(this.folder)
  }

  async #begin({ processes, project, rate, seed, logs }: WorldOptions): Promise<void> {
    const { topology, ledger, demands, folder, runsFile, addresses } = this
    writeFileSync(runsFile, '')
    await topology.query(
      `create table chaos_effects (serial bigint generated always as identity primary key,
         event_id text not null, tenant text not null, number integer not null, text text not null)`,
    )
    await topology.query('create index on chaos_effects (event_id)')
    await topology.query('create table chaos_counters (id integer primary key, n bigint not null)')
    await topology.query('insert into chaos_counters select id, 0 from generate_series(0, 19) as id')
    await topology.query('alter table chaos_counters owner to postern')
    await topology.query('alter table chaos_effects owner to postern')
    for (let number = 1; number <= processes; number += 1) {
      const link = await topology.openLink()
      this.processes.push(
        new PosternProcess({ project, folder, logs: logs ?? folder, link, runsFile }, number),
      )
    }
    await Promise.all(this.processes.map((process) => process.start()))
    this.#sinks = await startSinks(ledger, subscribeAt(this.processes[0]!.baseUrl))
    this.watch.start()
    this.readiness.start()
    this.followers.push(...[1, 2].map((nth) => new Follower(new Chance(seed + nth), addresses, demands)))
    this.senders = new Senders({ ledger, demands, chance: new Chance(seed), addresses, rate })
    await eventually(() => ledger.items.size > 20, 'requests are sent')
  }
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
}

function subscribeAt(base: string): Subscribe {
  return async (subscriber) => {
    const response = await fetch(new URL('/subscribers', base), {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(subscriber),
    })
    if (response.status !== 201) throw new Error(`no subscriber: ${response.status} ${await response.text()}`)
    return ((await response.json()) as { secret: string }).secret
  }
}
