// With SPOOL_URL=nats://… webhooks lie in JetStream while PostgreSQL is away: one server, and a cluster that loses one.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { startNats } from '../harness/nats.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { createEffects, eventually, postWebhook } from './harness.ts'
import { deliver, drained, oneEffectEach, plain, postgres, ready, skip, stage } from './nats-scene.ts'

describe('a spool in NATS JetStream', { skip }, () => {
  test('one server: each acknowledged webhook has one effect, and any process moves it', async () => {
    const nats = await startNats(1)
    const { link, direct, databaseUrl, start, close } = await stage(plain(nats, '?replicas=1'))
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
    const { link, direct, start, close } = await stage(plain(nats, '?replicas=3'))
    try {
      const service = await start()
      await createEffects(direct)
      await eventually(async () => (await ready(service)).spool?.status === 'ok', 'the cluster is there')
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

  test('without database and spool webhooks get 503; servers that start later are used', async () => {
    const nats = await startNats(1)
    const { link, direct, start, close } = await stage(plain(nats, '?replicas=1'))
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

  test('events that the database refuses are set aside, and an event that is too large gets 503', async () => {
    const nats = await startNats(1, { configuration: 'max_payload: 65536' })
    const { link, direct, databaseUrl, start, close } = await stage(plain(nats, '?replicas=1'))
    const admin = new pg.Client({ connectionString: databaseUrl })
    await admin.connect()
    try {
      const service = await start()
      await createEffects(direct)
      const ids = await deliver(service, 'before', 5)
      await admin.query(
        `alter table event_queue add constraint refusing check (event_id <> 'refused') not valid`,
      )
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

  test('an invalid setting stops the start with a message without the password', async () => {
    const nats = await startNats(1, { configuration: 'authorization { user: postern, password: right }' })
    const { start, close } = await stage(plain(nats, ''))
    const home = await postgres!.createDatabase()
    const begin = (before: string, after = ''): Promise<TestService> =>
      startTestService(postgres!, {
        databaseUrl: home.url,
        env: { SPOOL_URL: `nats://${before}${nats.servers[0]}${after}` },
      })
    try {
      await assert.rejects(start(), /SPOOL_URL cannot be used: NATS rejects the credentials/)
      await assert.rejects(begin('postern:swordfish@'), (error: Error) => {
        assert.match(error.message, /NATS rejects the credentials/)
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
