import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { adminKey, fields, freePort, onEachEngine, serviceEnvironment } from '../harness/index.ts'
import { type Answer, startReceiver } from '../harness/receiver.ts'
import { deliveries, emit, settled, startEmitting, subscribe, until } from './harness.ts'
import { mainFile } from '../harness/main-file.ts'

/** A process of its own, as an operator runs it. */
async function startProcess(databaseUrl: string, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [mainFile, 'serve'], {
    stdio: 'ignore',
    env: {
      ...childEnvironment(),
      ...serviceEnvironment(databaseUrl),
      PORT: String(port),
      ALLOW_PRIVATE_NETWORK: 'true',
      // What a busy machine does not deliver in time is to be tried again, not to become a dead letter.
      EMIT_TIMEOUT: '5',
      EMIT_RETRY_SCHEDULE: '0,0.05,1,1,1,1',
      LOG_LEVEL: 'fatal',
    },
  })
  await until(
    async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.ok,
    'the process answers',
  )
  return child
}

async function call(port: number, path: string, json: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(json),
  })
}

onEachEngine('crash', (engine) => {
  test('kill -9 during deliveries loses no accepted event', async () => {
    const slowly: Answer = (response) => setTimeout(() => response.writeHead(204).end(), 20)
    const [database, receiver, port] = await Promise.all([
      engine.createMigratedDatabase(),
      startReceiver(slowly),
      freePort(),
    ])
    let child = await startProcess(database.url, port)
    assert.equal((await call(port, '/subscribers', { url: receiver.url })).status, 201)
    const accepted = new Set<string>()
    let killed = false
    const emitting = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!killed) {
          // A call that was cut off was not answered: whether it counts is open.
          const response = await call(port, '/events', { type: 'a', data: 1 }).catch(() => undefined)
          const answer = (await response?.json().catch(() => undefined)) as { eventId: string } | undefined
          if (response?.status === 202 && answer) accepted.add(answer.eventId)
        }
      }),
    )
    await receiver.waitFor(40)
    killed = child.kill('SIGKILL')
    await once(child, 'exit')
    await emitting
    child = await startProcess(database.url, port)
    const received = () => new Set(receiver.calls.map(({ headers }) => String(headers['webhook-id'])))
    await until(async () => accepted.difference(received()).size === 0, 'everything accepted was delivered')
    // Of the forty that arrived, at most the four calls in progress got no answer.
    assert.ok(accepted.size >= 36)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await receiver.close()
    await database.drop()
  })

  test('a stop waits for attempts in progress, and releases those that do not end in time', async () => {
    await using database = await engine.createMigratedDatabase()
    const slowly: Answer = (response) => setTimeout(() => response.writeHead(204).end(), 300)
    const receiver = await startReceiver(slowly)
    const service = await startEmitting(engine, { databaseUrl: database.url })
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await receiver.waitFor(1)
    await service.stop(60_000)

    const second = await startEmitting(engine, { databaseUrl: database.url })
    assert.deepEqual(fields(await deliveries(second, id), 'status', 'attemptCount'), [['delivered', 1]])
    receiver.answer(() => undefined)
    await emit(second, { type: 'a', data: 2 })
    await receiver.waitFor(2)
    await second.stop(100)

    receiver.answer(204)
    const third = await startEmitting(engine, { databaseUrl: database.url })
    const delivered = await settled(third, id, 'delivered')
    assert.deepEqual(
      [delivered.attemptCount, delivered.attempts.length],
      [1, 1],
      'the attempt that was broken off does not count',
    )
    await Promise.all([third.stop(5_000), receiver.close()])
  })
})
