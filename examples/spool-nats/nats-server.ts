// A NATS server for the test, with JetStream and its data in a temporary folder.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** The server's program, which Debian installs outside of the PATH of most users. */
const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  .map((folder) => join(folder, 'nats-server'))
  .find((file) => existsSync(file))

/** Why tests are skipped, if they are. */
export const withoutNats = program === undefined && 'nats-server is not installed'

export interface NatsServer {
  /** `host:port`. */
  readonly server: string
  /** Ends it as a crash does. */
  kill(): Promise<void>
  /** Starts it again with its data. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startNats(): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-nats-'))
  const port = await freePort()
  const configuration = join(folder, 'nats.conf')
  writeFileSync(configuration, `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${folder}/data" }\n`)
  let child: ChildProcess
  async function start(): Promise<void> {
    child = spawn(program!, ['-c', configuration], { stdio: 'ignore' })
    for (let tries = 0; !(await answers(port)); tries += 1) {
      if (tries > 300 || child.exitCode !== null) throw new Error('nats-server did not start')
      await sleep(50)
    }
  }
  async function kill(): Promise<void> {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
  }
  await start()
  return {
    server: `127.0.0.1:${port}`,
    kill,
    restart: start,
    async close() {
      await kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
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
