// A real PgBouncer in front of a database, where the machine has one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { unprivilegedUser } from './postgres-binaries.ts'
import type { Pooler } from './transaction-pooler.ts'

const binary = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find((path) =>
  existsSync(path),
)
export const hasPgbouncer = binary !== undefined

export interface PgbouncerOptions {
  mode: 'session' | 'transaction' | 'statement'
  /** Sessions of the server. */
  sessions: number
  /** Whether they are given out in turn; otherwise the one that was given back last is. Default false. */
  inTurn?: boolean
}

export async function startPgbouncer(target: string, options: PgbouncerOptions): Promise<Pooler> {
  if (binary === undefined) throw new Error('there is no PgBouncer on this machine')
  const { hostname, port, username, password } = new URL(target)
  const folder = mkdtempSync(join(tmpdir(), 'postern-pgbouncer-'))
  // It does not run as root.
  const user = unprivilegedUser()
  if (user) chownSync(folder, user.uid, user.gid)
  const ownPort = await freePort()
  const server = `host=${hostname} port=${port}${password === '' ? '' : ` password=${decodeURIComponent(password)}`}`
  writeFileSync(join(folder, 'users.txt'), `"${decodeURIComponent(username)}" ""\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${options.mode}
default_pool_size = ${options.sessions}
server_round_robin = ${options.inTurn === true ? 1 : 0}
`,
  )
  const child = spawn(binary, ['-q', join(folder, 'pgbouncer.ini')], {
    ...user,
    cwd: folder,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const url = new URL(target)
  url.host = `127.0.0.1:${ownPort}`
  const close = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const deadline = performance.now() + 300_000
  while (!(await listens(ownPort))) {
    if (performance.now() > deadline || child.exitCode !== null) {
      await close()
      throw new Error('PgBouncer did not start')
    }
  }
  return { url: url.href, misplaced: [], close }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    // Refused: it is not there yet.
    await new Promise((resolve) => setTimeout(resolve, 50))
    return false
  } finally {
    socket.destroy()
  }
}
