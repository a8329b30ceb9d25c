// A standby of a server that a test has started, from the same binaries, and without pg_basebackup, which they lack.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { nativeFolder, ready, unprivilegedUser } from './postgres-binaries.ts'

export interface Standby {
  /** Of the database of the same name. */
  url: string
  /** Resolves when all is replayed that the primary had committed when this was called. */
  caughtUp(): Promise<void>
  /** Runs a statement on the standby, on a session of its own. */
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>
  stop(): Promise<void>
}

async function run<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

/**
 * Copies a server that runs, by the functions of its low-level backup interface, and starts the copy as its standby.
 * @param primary its address, as a superuser
 * @param stream the address that the standby gets the log from, for example by way of a link. Default the primary's.
 * https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 */
export async function startStandby(primary: string, stream = primary): Promise<Standby> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-standby-'))
  const data = join(folder, 'data')
  const user = unprivilegedUser()
  const port = await freePort()
  await copyServer(primary, data)
  const { hostname, port: from } = new URL(stream)
  writeFileSync(join(data, 'standby.signal'), '')
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=${hostname} port=${from} user=postgres'\nwal_receiver_status_interval = 1s\n` +
      `wal_retrieve_retry_interval = 200ms\nmax_standby_streaming_delay = 200ms\n`,
  )
  if (user)
    for (const name of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
      chownSync(join(folder, name), user.uid, user.gid)
  const [settings] = await run<{ connections: string }>(primary, 'show max_connections').then((rows) =>
    rows.map((row) => ({ connections: Object.values(row)[0] as string })),
  )
  const flags = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: settings!.connections,
    log_min_messages: 'fatal',
    fsync: 'off',
  }
  const server = spawn(
    join(nativeFolder(folder, user !== undefined), 'bin', 'postgres'),
    [
      '-D',
      data,
      '-p',
      String(port),
      ...Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' }, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const removeFolder = (): void =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  const onExit = (): void => {
    server.kill('SIGQUIT')
    removeFolder()
  }
  process.once('exit', onExit)
  await ready(server, join(data, 'postmaster.pid'))
  const url = new URL(primary)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  const query = <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> => run<Row>(url.href, text)
  return {
    url: url.href,
    query,
    async caughtUp() {
      // Commits of test servers do not wait for the log to be written: this one does.
      await run(primary, `set synchronous_commit = local; select pg_logical_emit_message(true, 'test', '')`)
      const [now] = await run<{ at: string }>(primary, 'select pg_current_wal_flush_lsn()::text as at')
      const deadline = performance.now() + 300_000
      const there = `select pg_last_wal_replay_lsn() >= '${now!.at}'::pg_lsn as there`
      while (!(await query<{ there: boolean }>(there))[0]!.there) {
        if (performance.now() > deadline) throw new Error('the standby did not catch up within 300 s')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async stop() {
      const ended = once(server, 'exit')
      server.kill('SIGQUIT')
      await ended
      removeFolder()
      process.off('exit', onExit)
    },
  }
}

async function copyServer(primary: string, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: primary })
  await client.connect()
  try {
    const { rows } = await client.query<{ from: string }>(`select current_setting('data_directory') as from`)
    const from = rows[0]!.from
    await client.query(`select pg_backup_start('standby', true)`)
    // Temporary files vanish meanwhile; what is torn is repaired by the log.
    const unneeded = /^(?:postmaster\.(?:pid|opts)|pgsql_tmp.*|pg_stat_tmp)$/
    cpSync(from, to, { recursive: true, filter: (path) => !unneeded.test(basename(path)) })
    const label = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    // The log up to the end of the copy.
    cpSync(join(from, 'pg_wal'), join(to, 'pg_wal'), { recursive: true, force: true })
    writeFileSync(join(to, 'backup_label'), label.rows[0]!.labelfile)
  } finally {
    await client.end()
  }
}
