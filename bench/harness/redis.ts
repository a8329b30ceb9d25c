import { spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { makeFolder } from './databases.ts'
import { freePort } from '../../test/harness/free-port.ts'
import { startProcess, stopProcess } from './processes.ts'

/** When Redis writes to the disk: before it answers, as the databases do, or once a second, as it does by default. */
export type AppendFsync = 'always' | 'everysec'

export interface Redis extends AsyncDisposable {
  readonly port: number
}

/** The first line of `redis-server --version`, undefined where it is not installed. */
export function redisVersion(): string | undefined {
  const { status, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return status === 0 ? /v=(\S+)/.exec(stdout)?.[1] : undefined
}

/** Starts a Redis that keeps what it is told in an append-only file, and nothing else. */
export async function startRedis(appendfsync: AppendFsync): Promise<Redis> {
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: makeFolder(),
    appendonly: 'yes',
    appendfsync,
    save: '',
    'maxmemory-policy': 'noeviction',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const child = startProcess('redis-server', args, { stdio: 'ignore' })
  for (const deadline = performance.now() + 10_000; !(await answers(port)); await wait(20)) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await stopProcess(child)
      throw new Error('redis-server did not start')
    }
  }
  return { port, [Symbol.asyncDispose]: () => stopProcess(child) }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const end = (answered: boolean) => () => {
      socket.destroy()
      resolve(answered)
    }
    socket.on('connect', end(true)).on('error', end(false))
  })
}
