import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { QueryResultRow } from 'pg'
import { freePort } from '../../harness/free-port.ts'
import { openLink, type Link } from '../../harness/link.ts'
import { eventually } from '../../receiving/harness.ts'
import type { Binaries } from '../../harness/postgres-binaries.ts'
import { haproxyFile, patroniFile, type Member } from './patroni-files.ts'
import { findProgram, Program } from './programs.ts'
import { queryAt, signal } from './server.ts'
import type { Topology } from './topology.ts'

/** Where the programs are that Patroni's copies of PostgreSQL need, pg_basebackup among them; the package has few of them. */
const debian = '/usr/lib/postgresql/15/bin'

interface Node extends Member {
  readonly program: Program
}

/** Two servers that Patroni leads in synchronous mode, with etcd, behind HAProxy. */
export class PatroniCluster implements Topology {
  readonly links: Link[] = []
  /** Who leads is Patroni's affair. */
  readonly primary = this
  readonly etcd: Program
  readonly nodes: readonly Node[]
  readonly #haproxy: Program
  readonly #address: string

  private constructor(etcd: Program, nodes: readonly Node[], haproxy: Program, port: number) {
    this.etcd = etcd
    this.nodes = nodes
    this.#haproxy = haproxy
    this.#address = `127.0.0.1:${port}/postgres`
  }

  static async start(binaries: Binaries, folder: string): Promise<PatroniCluster> {
    const own = binaries.folder
    const given = { ...binaries, folder: existsSync(join(own, 'pg_basebackup')) ? own : debian }
    const cluster = await PatroniCluster.#make(given, folder)
    try {
      cluster.etcd.start()
      for (const { program } of cluster.nodes) program.start()
      cluster.#haproxy.start()
      await cluster.healthy()
      await cluster.query('create role postern login')
      await cluster.query('alter schema public owner to postern')
    } catch (error) {
      const logs = [cluster.etcd, ...cluster.nodes.map(({ program }) => program), cluster.#haproxy]
      await cluster.end()
      throw new Error(logs.map(({ log }) => log).join('\n'), { cause: error })
    }
    return cluster
  }

  static async #make(binaries: Binaries, folder: string): Promise<PatroniCluster> {
    const find = (name: string): string => findProgram(name, '--topology patroni')
    const { user } = binaries
    const run = (name: string, args: string[], log = name): Program =>
      new Program(find(name), args, join(folder, `${log}.log`), user)
    const [client, peer, entry] = [await freePort(), await freePort(), await freePort()]
    const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` }
    const etcd = run('etcd', [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${urls.client}`,
      `--advertise-client-urls=${urls.client}`,
      `--listen-peer-urls=${urls.peer}`,
      `--initial-advertise-peer-urls=${urls.peer}`,
      `--initial-cluster=default=${urls.peer}`,
    ])
    const nodes: Node[] = []
    for (const name of ['one', 'two']) {
      const member = { name, port: await freePort(), api: await freePort(), data: join(folder, name) }
      const file = join(folder, `${name}.yml`)
      writeFileSync(file, patroniFile(member, { etcd: client, binaries: binaries.folder }))
      nodes.push({ ...member, program: run('patroni', [file], name) })
    }
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(file, haproxyFile(entry, nodes))
    return new PatroniCluster(etcd, nodes, run('haproxy', ['-db', '-f', file]), entry)
  }

  async openLink(): Promise<Link> {
    const link = await openLink(`postgres://postern@${this.#address}`)
    this.links.push(link)
    return link
  }

  query<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return queryAt<Row>(`postgres://postgres@${this.#address}`, text, values)
  }

  /** Resolves when the address leads to a primary that takes writes. */
  async writable(): Promise<void> {
    const writes = `select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as no`
    await eventually(
      async () => (await this.query<{ no: boolean }>(writes).catch(() => []))[0]?.no === false,
      'a primary takes writes',
      120_000,
    )
  }

  /** Resolves when there is a primary and a synchronous standby. */
  async healthy(): Promise<void> {
    await eventually(
      async () => {
        const states = await Promise.all(this.nodes.map((node) => this.is(node, 'sync')))
        return states.includes(true)
      },
      'a standby is synchronous',
      120_000,
    )
    await this.writable()
  }

  /** Whether a server has a role, by Patroni's own interface. */
  async is({ api }: Node, role: 'primary' | 'sync'): Promise<boolean> {
    try {
      const answer = await fetch(`http://127.0.0.1:${api}/${role}`, { signal: AbortSignal.timeout(1_000) })
      await answer.arrayBuffer()
      return answer.status === 200
    } catch {
      // It is not there, or stopped.
      return false
    }
  }

  async leader(): Promise<Node> {
    return eventually(async () => {
      for (const node of this.nodes) if (await this.is(node, 'primary')) return node
      return undefined
    }, 'there is a leader')
  }

  /** Ends a server and its Patroni, as a machine ends that loses its power. */
  async kill(node: Node): Promise<void> {
    const server = serverOf(node)
    await node.program.end()
    if (server) signal(server, 'SIGKILL')
  }

  async end(): Promise<void> {
    for (const link of this.links) link.close()
    await this.#haproxy.end()
    for (const node of this.nodes) await this.kill(node)
    await this.etcd.end()
  }

  killNow(): void {
    for (const node of this.nodes) {
      const server = serverOf(node)
      node.program.signal('SIGKILL')
      if (server) signal(server, 'SIGKILL')
    }
    this.#haproxy.signal('SIGKILL')
    this.etcd.signal('SIGKILL')
  }
}

/** The process of PostgreSQL. */
function serverOf({ data }: Member): number | undefined {
  const file = join(data, 'postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : undefined
}
