// Servers of queues, each in a process of its own, that tests stop and start again on the same port.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../harness/free-port.ts'

const root = join(import.meta.dirname, '../../..')
/** The folder of a real Kafka's jars, which the tests then start in place of the fake: examples/destination-kafka. */
const kafkaJars = process.env['KAFKA_JARS']

/** A program of PATH or of what .ci/run installs. */
const programOf = (name: string): string | undefined =>
  [...(process.env['PATH'] ?? '').split(delimiter), join(root, '.cache/go'), join(root, '.cache/moto/bin')]
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))

/** Why the tests of an example are skipped, if they are. */
export function lacking(example: string, client: string, program: string): string | false {
  if (!existsSync(join(root, 'examples', example, 'node_modules', client)))
    return `the packages of examples/${example} are not installed`
  return programOf(program) === undefined && !(program === 'fake-kafka' && kafkaJars)
    ? `${program} is not installed`
    : false
}

export interface Broker {
  /** `127.0.0.1:port`. */
  readonly address: string
  /** Ends it as a crash does. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export const startMoto = (): Promise<Broker> =>
  startBroker((port) => [programOf('moto_server')!, '-H', '127.0.0.1', '-p', `${port}`])

export const startPubsub = (): Promise<Broker> =>
  startBroker((port) => [programOf('fake-pubsub')!, `${port}`])

export const startKafka = (): Promise<Broker> =>
  startBroker((port, folder) =>
    kafkaJars ? javaKafka(port, folder, kafkaJars) : [programOf('fake-kafka')!, `${port}`, folder],
  )

/** One node of a real Kafka, which is its own controller. */
async function javaKafka(port: number, folder: string, jars: string): Promise<string[]> {
  const controller = await freePort()
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(folder, 'data'),
    'offsets.topic.replication.factor': 1,
    'auto.create.topics.enable': false,
  }
  const file = join(folder, 'server.properties')
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  const java = ['-Xmx256m', '-cp', join(jars, '*')]
  const format = ['format', '-t', 'MkU3OEVBNTcwNTJENDM2Qk', '-c', file]
  await promisify(execFile)('java', [...java, 'kafka.tools.StorageTool', ...format])
  return ['java', ...java, 'kafka.Kafka', file]
}

async function startBroker(
  commandOf: (port: number, folder: string) => string[] | Promise<string[]>,
): Promise<Broker> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-broker-'))
  const port = await freePort()
  const [program, ...options] = await commandOf(port, folder)
  let child: ChildProcess
  async function start(): Promise<void> {
    child = spawn(program!, options, { stdio: 'ignore' })
    for (let tries = 0; !(await listens(port)); tries += 1) {
      if (tries > 1_000 || child.exitCode !== null) throw new Error(`${program} did not start`)
      await sleep(50)
    }
  }
  async function stop(): Promise<void> {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
  }
  await start()
  return {
    address: `127.0.0.1:${port}`,
    start,
    stop,
    async close() {
      await stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

async function listens(port: number): Promise<boolean> {
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

/** The client of an example, from the example's own packages. */
export const clientOf = <Client>(example: string, client: string): Client =>
  createRequire(join(root, 'examples', example, 'index.js'))(client) as Client
