// A RabbitMQ broker for the tests, with its data in a temporary folder.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Debian's program in the PATH changes to the user `rabbitmq`. This one runs as the current user. */
const program = globSync('/usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server')[0]

/** Why tests are skipped, if they are. */
export const withoutRabbit = program === undefined && 'rabbitmq-server is not installed'

export interface RabbitServer {
  /** Without credentials. */
  readonly url: string
  /** Ends it as a crash does. */
  kill(): Promise<void>
  /** Starts it again with its data. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Takes about seven seconds. */
export async function startRabbit(): Promise<RabbitServer> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-rabbitmq-'))
  const [port, between, names] = [await freePort(), await freePort(), await freePort()]
  const none = join(folder, 'none')
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    ERL_EPMD_PORT: String(names),
    RABBITMQ_NODENAME: `postern-${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(between),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONF_ENV_FILE: none,
    RABBITMQ_CONFIG_FILE: none,
    RABBITMQ_ADVANCED_CONFIG_FILE: none,
    RABBITMQ_ENABLED_PLUGINS_FILE: none,
  }
  // Its name server, which would start as a daemon otherwise, and remain.
  const registry = spawn('epmd', ['-port', String(names), '-address', '127.0.0.1'], { stdio: 'ignore', env })
  let broker: ChildProcess
  async function start(): Promise<void> {
    // With a process group of its own, because the program is a script.
    broker = spawn(program!, [], { stdio: 'ignore', env, detached: true })
    for (let tries = 0; !(await answers(port)); tries += 1) {
      if (tries > 1_200 || broker.exitCode !== null) throw new Error('rabbitmq-server did not start')
      await sleep(100)
    }
  }
  async function kill(): Promise<void> {
    if (broker.exitCode !== null || broker.signalCode !== null) return
    const ended = once(broker, 'exit')
    process.kill(-broker.pid!, 'SIGKILL')
    await ended
    while (await answers(port)) await sleep(50)
  }
  await start()
  return {
    url: `amqp://127.0.0.1:${port}`,
    kill,
    restart: start,
    async close() {
      await kill()
      registry.kill('SIGKILL')
      if (existsSync(folder)) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
