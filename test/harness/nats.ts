// Servers of NATS JetStream, single or as a cluster, with their data in a folder that goes with them.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

/** The server's program, which Debian puts where only root looks; undefined where it is not installed. */
const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  .map((folder) => join(folder, 'nats-server'))
  .find((file) => existsSync(file))

/** Why tests with NATS are skipped, if they are. */
export const withoutNats = program === undefined && 'nats-server is not installed'

export interface NatsServers {
  /** `host:port` of each. */
  readonly servers: readonly string[]
  /** Ends a server as a crash does. */
  kill(index: number): void
  /** Starts it again with its data. */
  restart(index: number): Promise<void>
  close(): void
}

export interface NatsOptions {
  /** More lines of each server's configuration. */
  configuration?: string
}

/** Starts so many servers, as one cluster when they are several. */
export async function startNats(
  count: number,
  { configuration = '' }: NatsOptions = {},
): Promise<NatsServers> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-nats-'))
  const ports = await Promise.all(Array.from({ length: count }, freePort))
  const routes = await Promise.all(Array.from({ length: count }, freePort))
  const running: (ChildProcess | undefined)[] = []
  const start = async (index: number): Promise<void> => {
    const port = ports[index]!
    const file = join(folder, `${index}.conf`)
    const cluster =
      count === 1
        ? ''
        : `cluster { name: test, listen: "127.0.0.1:${routes[index]}", routes: [${routes.map((route) => `"nats://127.0.0.1:${route}"`).join(', ')}] }`
    writeFileSync(
      file,
      `server_name: s${index}\nlisten: "127.0.0.1:${port}"\njetstream { store_dir: "${join(folder, String(index))}", max_file_store: 8589934592 }\n${cluster}\n${configuration}\n`,
    )
    const child = spawn(program!, ['-c', file], { stdio: 'ignore' })
    running[index] = child
    for (let tries = 0; !(await answers(port)); tries += 1) {
      if (tries > 300 || child.exitCode !== null) throw new Error('nats-server did not start')
      await sleep(50)
    }
  }
  await Promise.all(ports.map((_, index) => start(index)))
  return {
    servers: ports.map((port) => `127.0.0.1:${port}`),
    kill: (index) => void running[index]?.kill('SIGKILL'),
    restart: start,
    close() {
      for (const child of running) child?.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    // It has not begun to listen.
    return false
  } finally {
    socket.destroy()
  }
}
