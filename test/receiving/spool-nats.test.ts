// With SPOOL_URL=nats://… webhooks lie in JetStream while PostgreSQL is away: one server, and a cluster that loses one.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { openDatabase } from '../../src/storage/open.ts'
import type { Database } from '../../src/storage/database.ts'
import { engines } from '../harness/engines.ts'
import { openLink, type Link } from '../harness/link.ts'
import { startNats, withoutNats, type NatsServers } from '../harness/nats.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

const postgres = engines.find(({ name }) => name === 'postgres')
const skip = !postgres ? 'TEST_ENGINE leaves PostgreSQL out' : withoutNats

interface Ready {
  status: string
  spool?: { status: string; events?: number; oldestSeconds?: number }
}

interface Scene {
  link: Link
  direct: Database
  databaseUrl: string
  start: (path?: string) => Promise<TestService>
  close: () => Promise<void>
}

async function stage(nats: NatsServers, parameters: string): Promise<Scene> {
  const home = await postgres!.createDatabase()
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
          SPOOL_URL: `nats://${nats.servers.join(',')}${parameters}`,
          HANDLER_TIMEOUT: '5',
          HANDLER_RETRY_SCHEDULE: '0,0,0,0,0',
        },
        config: { receiving: { handlers: { work: (event, { tx }) => writeEffect(tx, event.id) } } },
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

async function ready(service: TestService, path = '/readyz'): Promise<Ready> {
  return (await (await service.fetch(path)).json()) as Ready
}

/** Sends so many, each until it is acknowledged. */
async function deliver(service: TestService, name: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${name}-${index}`)
  const send = (id: string): Promise<boolean> =>
    eventually(async () => (await postWebhook(service, { id, type: 'work' })).status === 200, id)
  for (let at = 0; at < ids.length; at += 20) await Promise.all(ids.slice(at, at + 20).map(send))
  return ids
}

const drained = (service: TestService): Promise<boolean> =>
  eventually(
    async () => {
      const { spool } = await ready(service)
      return spool?.status === 'ok' && spool.events === 0
    },
    'the spool is empty',
    60_000,
  )

async function oneEffectEach(database: Database, ids: readonly string[]): Promise<void> {
  await eventually(
    async () => (await readEffects(database)).length >= ids.length,
    'each has an effect',
    60_000,
  )
  await settled(database)
  const rows = await database.reader.selectFrom('inbox').select(['event_id', 'status']).execute()
  const unprocessed = rows.filter(({ status }) => status !== 'processed')
  assert.deepEqual(unprocessed, [], 'every event in the inbox is processed')
  assert.deepEqual(await readEffects(database), ids.toSorted())
}

describe('a spool in NATS JetStream', { skip }, () => {
  test('one server: what is acknowledged has one effect, and any process moves it', async () => {
    const nats = await startNats(1)
    const { link, direct, databaseUrl, start, close } = await stage(nats, '?replicas=1')
    try {
      const service = await start()
      await createEffects(direct)
      const ids = await deliver(service, 'before', 20)
      link.cut()
      ids.push(...(await deliver(service, 'away', 100)))
      const { status, spool } = await ready(service, '/readyz?for=webhooks')
      assert.equal(status, 'spooling')
      await eventually(
        async () => ((await ready(service)).spool?.events ?? 0) >= 80,
        'the events are counted',
      )
      assert.ok(spool!.oldestSeconds! >= 0)
      // Another process, which reaches the database.
      const other = await start(databaseUrl)
      await drained(other)
      link.mend()
      // Some of these may still go to the spool: the process has yet to notice that the database is back.
      ids.push(...(await deliver(service, 'back', 20)))
      await drained(service)
      await oneEffectEach(direct, ids)
    } finally {
      await close()
      nats.close()
    }
  })

  test('a cluster of three that loses a server during the outage loses no webhook', async () => {
    const nats = await startNats(3)
    const { link, direct, start, close } = await stage(nats, '?replicas=3')
    try {
      const service = await start()
      await createEffects(direct)
      await eventually(
        async () => (await ready(service)).spool?.status === 'ok',
        'the cluster is there',
        60_000,
      )
      const ids = await deliver(service, 'before', 20)
      link.cut()
      ids.push(...(await deliver(service, 'away', 60)))
      nats.kill(0)
      ids.push(...(await deliver(service, 'one-less', 60)))
      link.mend()
      await drained(service)
      await oneEffectEach(direct, ids)
    } finally {
      await close()
      nats.close()
    }
  })

  test('without database and spool webhooks get 503; servers that come later are used', async () => {
    const nats = await startNats(1)
    const { link, direct, start, close } = await stage(nats, '?replicas=1')
    try {
      nats.kill(0)
      const service = await start()
      await createEffects(direct)
      const ids = await deliver(service, 'before', 5)
      assert.equal((await ready(service)).spool?.status, 'unavailable')
      link.cut()
      const refused = await postWebhook(service, { id: 'refused', type: 'work' })
      assert.equal(refused.status, 503)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      assert.equal((await service.fetch('/readyz?for=webhooks')).status, 503)
      await nats.restart(0)
      ids.push(...(await deliver(service, 'away', 20)))
      link.mend()
      await drained(service)
      await oneEffectEach(direct, ids)
    } finally {
      await close()
      nats.close()
    }
  })

  test('what the database refuses is set aside, and an event that is too large gets 503', async () => {
    const nats = await startNats(1, { configuration: 'max_payload: 65536' })
    const { link, direct, databaseUrl, start, close } = await stage(nats, '?replicas=1')
    const admin = new pg.Client({ connectionString: databaseUrl })
    await admin.connect()
    try {
      const service = await start()
      await createEffects(direct)
      const ids = await deliver(service, 'before', 5)
      await admin.query(`alter table inbox add constraint refusing check (event_id <> 'refused') not valid`)
      link.cut()
      ids.push(...(await deliver(service, 'away', 10)))
      assert.equal((await postWebhook(service, { id: 'refused', type: 'work' })).status, 200)
      const large = { id: 'large', type: 'work', data: 'x'.repeat(70_000) }
      assert.equal((await postWebhook(service, large)).status, 503)
      link.mend()
      await drained(service)
      await oneEffectEach(direct, ids)
    } finally {
      await admin.end()
      await close()
      nats.close()
    }
  })

  test('what is wrong with the setting stops the start, without the password', async () => {
    const nats = await startNats(1, { configuration: 'authorization { user: postern, password: right }' })
    const { start, close } = await stage(nats, '')
    const home = await postgres!.createDatabase()
    const begin = (before: string, after = ''): Promise<TestService> =>
      startTestService(postgres!, {
        databaseUrl: home.url,
        env: { SPOOL_URL: `nats://${before}${nats.servers[0]}${after}` },
      })
    try {
      await assert.rejects(start(), /SPOOL_URL cannot be used: NATS refuses the credentials/)
      await assert.rejects(begin('postern:swordfish@'), (error: Error) => {
        assert.match(error.message, /NATS refuses the credentials/)
        assert.doesNotMatch(error.message, /swordfish/)
        return true
      })
      await assert.rejects(begin('postern:right@', '?replicas=3'), /SPOOL_URL cannot be used: .*replicas/)
      const service = await begin('postern:right@', '?replicas=1')
      await service.close()
    } finally {
      await close()
      await home.drop()
      nats.close()
    }
  })
})
