import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { openDatabase } from '../../src/storage/open.ts'
import type { Database } from '../../src/storage/database.ts'
import { engines } from '../harness/engines.ts'
import { openLink, type Link } from '../harness/link.ts'
import { withoutNats, type NatsServers } from '../harness/nats.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../harness/service.ts'
import { eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

/** The address of servers without TLS. */
export const plain = ({ servers }: NatsServers, parameters: string): string =>
  `nats://${servers.join(',')}${parameters}`

export const postgres = engines.find(({ name }) => name === 'postgres')
/** Why tests with NATS and PostgreSQL are skipped, if they are. */
export const skip = !postgres ? 'TEST_ENGINE leaves PostgreSQL out' : withoutNats

interface Ready {
  status: string
  spool?: { status: string; events?: number; oldestSeconds?: number }
}

export interface Scene {
  link: Link
  direct: Database
  databaseUrl: string
  start: (path?: string) => Promise<TestService>
  close: () => Promise<void>
}

/** Services with a spool in NATS, which reach their PostgreSQL by a link. @param more of the services. */
export async function stage(spoolUrl: string, more: Partial<TestServiceOptions> = {}): Promise<Scene> {
  const home = await postgres!.createMigratedDatabase()
  const link = await openLink(home.url)
  const direct = await openDatabase(home.url)
  const services: TestService[] = []
  return {
    link,
    direct,
    databaseUrl: home.url,
    async start(databaseUrl = link.url) {
      const service = await startTestService(postgres!, {
        databaseUrl,
        env: {
          SPOOL_URL: spoolUrl,
          HANDLER_TIMEOUT: '5',
          HANDLER_RETRY_SCHEDULE: '0,0,0,0,0',
          ...more.env,
        },
        config: { receiving: { handlers: { work: (event, { tx }) => writeEffect(tx, event.id) } } },
        ...(more.parts && { parts: more.parts }),
      })
      services.push(service)
      return service
    },
    async close() {
      await Promise.all(services.map((service) => service.close()))
      link.close()
      await direct.close()
      await home.drop()
    },
  }
}

export async function ready(service: TestService, path = '/readyz'): Promise<Ready> {
  return (await (await service.fetch(path)).json()) as Ready
}

/** Sends so many, each until it is acknowledged. */
export async function deliver(service: TestService, name: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${name}-${index}`)
  const send = (id: string): Promise<boolean> =>
    eventually(async () => (await postWebhook(service, { id, type: 'work' })).status === 200, id)
  for (let at = 0; at < ids.length; at += 20) await Promise.all(ids.slice(at, at + 20).map(send))
  return ids
}

export const drained = (service: TestService): Promise<boolean> =>
  eventually(async () => {
    const { spool } = await ready(service)
    return spool?.status === 'ok' && spool.events === 0
  }, 'the spool is empty')

export async function oneEffectEach(database: Database, ids: readonly string[]): Promise<void> {
  try {
    await eventually(async () => {
      // An event that has failed never has an effect: its errors say more than a time limit.
      assert.deepEqual(await errorsOfFailed(database), [])
      return (await readEffects(database)).length >= ids.length
    }, 'each has an effect')
  } catch (error) {
    const effects = new Set(await readEffects(database))
    const missing = ids.filter((id) => !effects.has(id))
    const queued = await unprocessed(database)
    throw new Error(`without an effect: ${inspect({ missing, queued }, { depth: 3 })}`, { cause: error })
  }
  await settled(database)
  assert.deepEqual(await unprocessed(database), [], 'every event in the event queue is processed')
  assert.deepEqual(await readEffects(database), ids.toSorted())
}

const unprocessed = (database: Database): Promise<object[]> =>
  database.reader
    .selectFrom('event_queue')
    .select(['event_id', 'status', 'attempts', 'claim', 'due_at', 'leased_until'])
    .where('status', '!=', 'processed')
    .execute()

const errorsOfFailed = (database: Database): Promise<object[]> =>
  database.reader
    .selectFrom('event_queue as queue')
    .innerJoin('handler_failures as failure', 'failure.event', 'queue.event')
    .where('queue.status', '=', 'failed')
    .select(['queue.event_id', 'failure.number', 'failure.error'])
    .orderBy('queue.event')
    .execute()
