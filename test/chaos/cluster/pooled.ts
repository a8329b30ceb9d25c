import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { QueryResultRow } from 'pg'
import { freePort } from '../../harness/free-port.ts'
import { openLink, type Link } from '../../harness/link.ts'
import { eventually } from '../../receiving/harness.ts'
import type { Binaries } from '../../harness/postgres-binaries.ts'
import { findProgram, Program } from './programs.ts'
import { queryAt, Server } from './server.ts'
import type { Topology } from './topology.ts'

/** The name under which PgBouncer serves the database in transaction mode. */
const transactionName = 'transactions'

/** A server behind PgBouncer, which serves it in session mode, and under another name in transaction mode. */
export class PooledServer implements Topology {
  readonly links: Link[] = []
  readonly primary: Server
  readonly pooler: Program
  readonly #url: string

  private constructor(primary: Server, pooler: Program, url: string) {
    this.primary = primary
    this.pooler = pooler
    this.#url = url
  }

  static async start(binaries: Binaries, folder: string): Promise<PooledServer> {
    const path = findProgram('pgbouncer', '--topology pgbouncer')
    const server = await Server.create(binaries, join(folder, 'server'))
    const port = await freePort()
    const [file, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')]
    writeFileSync(users, '"postern" ""\n')
    writeFileSync(
      file,
      `[databases]
postgres = host=127.0.0.1 port=${server.port}
${transactionName} = host=127.0.0.1 port=${server.port} dbname=postgres pool_mode=transaction pool_size=10
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = session
max_client_conn = 500
default_pool_size = 110
server_connect_timeout = 3
server_login_retry = 1
# Marks the server's sessions that come through PgBouncer.
application_name_add_host = 1
`,
    )
    chmodSync(file, 0o644)
    const pooler = new Program(path, [file], join(folder, 'pgbouncer.log'), binaries.user)
    const pooled = new PooledServer(server, pooler, `postgres://postern@127.0.0.1:${port}/postgres`)
    await pooled.startPooler()
    return pooled
  }

  /** Resolves when it takes connections. */
  async startPooler(): Promise<void> {
    this.pooler.start()
    const answers = (): Promise<boolean> =>
      queryAt(this.#url, 'select 1').then(
        () => true,
        () => false,
      )
    await eventually(answers, 'PgBouncer answers', 60_000)
  }

  async openLink(): Promise<Link> {
    const link = await openLink(this.#url)
    this.links.push(link)
    return link
  }

  /** The address of the database in transaction mode, over a path to PgBouncer. */
  transactionsUrl(link: Link): string {
    const url = new URL(link.url)
    url.pathname = transactionName
    return url.href
  }

  /** Ends PgBouncer's sessions at the server. Resolves with their number. */
  async endSessions(): Promise<number> {
    const [row] = await this.query<{ count: string }>(
      `select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name like '% - 127.0.0.1:%'`,
    )
    return Number(row!.count)
  }

  query<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.primary.query<Row>(text, values)
  }

  async end(): Promise<void> {
    for (const link of this.links) link.close()
    await this.pooler.end()
    await this.primary.kill()
  }

  killNow(): void {
    this.pooler.signal('SIGKILL')
    this.primary.killNow()
  }
}
