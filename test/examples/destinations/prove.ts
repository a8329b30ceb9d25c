import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import type { DestinationDeclaration } from '../../../src/index.ts'
import { deliveries, emit, settled, startEmitting, subscribe, until } from '../../emitting/harness.ts'
import { childEnvironment } from '../../harness/child-environment.ts'
import { engines } from '../../harness/engines.ts'

interface Message {
  headers: Record<string, string>
  body: Buffer
}

export interface Broker {
  /** The messages of the queue, which is empty then. */
  messages(): Promise<Message[]>
  kill(): Promise<void>
  restart(): Promise<void>
}

/** Runs the tests of an example in its own package. */
export async function passOwnTests(example: string): Promise<void> {
  const ended = await promisify(execFile)(process.execPath, ['--test'], {
    cwd: join(import.meta.dirname, '../../../examples', example),
    env: childEnvironment(),
  }).catch((error: { stdout: string }) => error)
  assert.match(ended.stdout, /fail 0\n/)
  assert.match(ended.stdout, /pass [1-9]/)
}

/** Events arrive signed, also those that are emitted while the broker is down: none is lost. */
export async function proveDestination(
  destination: DestinationDeclaration,
  endpoint: object,
  broker: Broker,
): Promise<void> {
  await using service = await startEmitting(engines[0]!, {
    emitting: { destinations: { broker: destination } },
    env: { EMIT_RETRY_SCHEDULE: `0${',1'.repeat(49)}` },
  })
  const { id, secret } = await subscribe(service, { destination: 'broker', ...endpoint, timeout: 3 })
  const arrived = new Map<string, Message>()
  const receive = async (): Promise<number> => {
    for (const message of await broker.messages()) {
      new Webhook(secret).verify(message.body, message.headers)
      arrived.set(message.headers['webhook-id']!, message)
    }
    return arrived.size
  }
  await emit(service, { id: 'first', type: 'order.paid', data: { total: 12 } })
  await settled(service, id, 'delivered')
  assert.equal(await receive(), 1)
  const first = JSON.parse(arrived.get('first')!.body.toString()) as { type: string; data: unknown }
  assert.deepEqual([first.type, first.data], ['order.paid', { total: 12 }])

  await broker.kill()
  for (let n = 0; n < 5; n += 1) await emit(service, { id: `down-${n}`, type: 'order.paid', data: n })
  const waiting = await until(
    async () => {
      const failed = (await deliveries(service, id)).filter(({ attemptCount }) => attemptCount > 0)
      return failed.length === 6 && failed
    },
    'an attempt of each failed',
    30_000,
  )
  assert.equal(waiting.filter(({ status, lastError }) => status === 'pending' && lastError).length, 5)
  await broker.restart()
  await until(async () => (await deliveries(service, id, '?status=delivered')).length === 6, 'all', 60_000)
  await receive()
  assert.deepEqual([...arrived.keys()].toSorted(), [
    'down-0',
    'down-1',
    'down-2',
    'down-3',
    'down-4',
    'first',
  ])
}
