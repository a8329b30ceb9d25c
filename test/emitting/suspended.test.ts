// Two processes on one PostgreSQL, of which one sleeps while the other takes its lanes.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import {
  adminKey,
  freePort,
  onPostgres,
  openLink,
  postgres as engine,
  serviceEnvironment,
} from '../harness/index.ts'
import { type ReceivedCall, startReceiver } from '../harness/receiver.ts'
import { until } from './harness.ts'
import { mainFile } from '../harness/main-file.ts'

interface Process {
  child: ChildProcess
  /** POST with JSON, else GET. */
  call(path: string, json?: unknown): Promise<Response>
}

/** Whether a process is stopped: a signal takes a moment. Only Linux tells. */
const isStopped = ({ pid }: ChildProcess): boolean =>
  process.platform !== 'linux' || / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))

const idOf = ({ headers }: ReceivedCall): string => String(headers['webhook-id'])

/** @param sessionUrl the way of the sessions that say that the process lives */
async function start(databaseUrl: string, sessionUrl = databaseUrl): Promise<Process> {
  const port = await freePort()
  const child = spawn(process.execPath, [mainFile, 'serve'], {
    stdio: 'ignore',
    env: {
      ...childEnvironment(),
      ...serviceEnvironment(databaseUrl),
      DATABASE_SESSION_URL: sessionUrl,
      PORT: String(port),
      ALLOW_PRIVATE_NETWORK: 'true',
      LOG_LEVEL: 'fatal',
    },
  })
  const base = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${base}/healthz`).catch(() => undefined))?.ok, 'the process answers')
  return {
    child,
    call: (path, json) =>
      fetch(base + path, {
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        ...(json !== undefined && { method: 'POST', body: JSON.stringify(json) }),
      }),
  }
}

test(
  'a process that was suspended while others acquired its queues sends nothing twice, and resumes later',
  onPostgres,
  async () => {
    await using home = await engine!.createMigratedDatabase()
    await using link = await openLink(home.url)
    // It answers so many, and holds the others back until it is let go.
    const held: (() => void)[] = []
    let letGo = false
    await using receiver = await startReceiver((response) => {
      const answer = (): void => void setTimeout(() => response.writeHead(204).end(), 20)
      if (letGo || receiver.calls.length <= 40) answer()
      else held.push(answer)
    })
    const processes: Process[] = []
    try {
      const sleeper = await start(home.url, link.url)
      processes.push(sleeper)
      const made = await sleeper.call('/subscribers', { url: receiver.url })
      assert.equal(made.status, 201)
      const { id } = (await made.json()) as { id: string }
      const events = Array.from({ length: 400 }, (_, n) => ({ type: 'a', data: n, id: `event-${n}` }))
      assert.equal((await sleeper.call('/events', events)).status, 202)
      await receiver.waitFor(50)
      sleeper.child.kill('SIGSTOP')
      await until(async () => isStopped(sleeper.child), 'it sleeps')
      // What it had sent before is read by the time of this call, which is answered when all are.
      const call = fetch(receiver.url, { method: 'POST', headers: { 'webhook-id': 'behind' } })
      await until(async () => receiver.calls.some((one) => idOf(one) === 'behind'), 'the call is read')
      // The server sees the sessions end; the process does not: what it sends is lost.
      link.silence()
      letGo = true
      for (const answer of held) answer()
      await call
      const before = receiver.calls.length
      const other = await start(home.url)
      processes.push(other)
      // More than may still be on their way: these are of the other one.
      await receiver.waitFor(before + 30)
      sleeper.child.kill('SIGCONT')

      await until(async () => {
        const pending = await other.call(`/subscribers/${id}/deliveries?status=pending`)
        return ((await pending.json()) as { data: unknown[] }).data.length === 0
      }, 'everything is delivered')
      // The process that woke gets other queues only after it has noticed the loss of its own.
      other.child.kill('SIGKILL')
      assert.equal((await sleeper.call('/events', { type: 'a', data: 'last', id: 'last' })).status, 202)
      await until(
        async () => receiver.calls.some((call) => idOf(call) === 'last'),
        'the one that woke has taken over',
      )
      const calls = Map.groupBy(receiver.calls, idOf)
      const begun = new Set(receiver.calls.slice(0, before))
      const twice = [...calls].filter(([, some]) => some.length > 1 && !begun.has(some[0]!)).map(([id]) => id)
      assert.deepEqual(twice, [], 'only what it had begun when it fell asleep came again')
    } finally {
      for (const { child } of processes) child.kill('SIGKILL')
    }
  },
)
