// The network path to PostgreSQL becomes silent: nothing is answered, and no connection is reset.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { defineConfig } from '../../src/index.ts'
import { emit, subscribe } from '../emitting/harness.ts'
import { onPostgres, openLink, postgres, scoped, startReceiver, startTestService } from '../harness/index.ts'
import { afterRunning } from '../harness/running-time.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from '../receiving/harness.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'

describe('a silent path to PostgreSQL', onPostgres, () => {
  test('all connections become silent, new ones work: work continues, and each event has one effect', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using link = await openLink(home.url)
    await using direct = scoped(await openDatabase(home.url))
    await using receiver = await startReceiver()
    await using service = await startTestService(postgres!, {
      databaseUrl: link.url,
      env: { ALLOW_PRIVATE_NETWORK: 'true' },
      receiving: {
        handlers: { work: { timeout: 600, handle: (event, { tx }) => writeEffect(tx, event.id) } },
      },
    })
    await createEffects(direct)
    await subscribe(service, { url: receiver.url })
    const acknowledged = new Set<string>()
    const emitted = new Set<string>()
    let loading = true
    const load = async (): Promise<void> => {
      for (let n = 0; loading; n += 1) {
        const id = `event-${n}`
        const work = [
          postWebhook(service, { id, type: 'work' }).then(({ status }) => {
            if (status === 200) acknowledged.add(id)
            else assert.equal(status, 503)
          }),
          service
            .admin('/events', { method: 'POST', json: { id, type: 'went.out', data: n } })
            .then(({ status }) => {
              if (status === 202) emitted.add(id)
              else assert.equal(status, 503)
            }),
        ]
        await Promise.race([Promise.all(work), new Promise((resolve) => setTimeout(resolve, 20))])
      }
    }
    const loaded = load()
    await eventually(() => acknowledged.size > 20 && emitted.size > 20)
    link.silence()
    const before = {
      acknowledged: acknowledged.size,
      emitted: emitted.size,
      arrived: receiver.calls.length,
    }
    await eventually(
      () =>
        acknowledged.size > before.acknowledged + 50 &&
        emitted.size > before.emitted + 50 &&
        receiver.calls.length > before.arrived + 50,
      'work goes on',
    )
    loading = false
    await loaded
    const arrived = (): Set<unknown> => new Set(receiver.calls.map(({ headers }) => headers['webhook-id']))
    await eventually(async () => {
      const effects = new Set(await readEffects(direct))
      return [...acknowledged].every((id) => effects.has(id)) && [...emitted].every((id) => arrived().has(id))
    }, 'everything that was acknowledged is done')
    const effects = await readEffects(direct)
    assert.equal(effects.length, new Set(effects).size)
    // The check may be the first to use a silent connection, and then waits for its deadline.
    await eventually(async () => (await service.fetch('/readyz')).status === 200, 'it is ready')
  })

  test('everything becomes silent: not ready, calls get 503, and a stop ends within its limit', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using link = await openLink(home.url)
    await using service = await startTestService(postgres!, { databaseUrl: link.url })
    assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
    await emit(service, { type: 'went.out', data: 1 })
    link.silence('new')
    const late: string[] = []
    const cancelFirst = afterRunning(15_000, () => late.push('the readiness'))
    assert.equal((await service.fetch('/readyz')).status, 503)
    cancelFirst()
    const refused = await postWebhook(service, { id: 'meanwhile', type: 'work' })
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    // A statement would wait for ten seconds.
    const cancelSecond = afterRunning(9_500, () => late.push('the stop'))
    await service.stop(2_000)
    cancelSecond()
    assert.deepEqual(late, [])
  })

  test('idle connections become silent: handlers with a long timeout do not wait for them', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using link = await openLink(home.url)
    await using direct = scoped(await openDatabase(home.url))
    const config = defineConfig({
      receiving: {
        handlers: {
          work: {
            timeout: 600,
            async handle(event, { tx }) {
              await writeEffect(tx, event.id)
              await new Promise((resolve) => setTimeout(resolve, 300))
            },
          },
        },
      },
    })
    await using service = await startTestService(postgres!, { databaseUrl: link.url, config })
    // Its path stays as it is.
    await using other = await startTestService(postgres!, {
      databaseUrl: home.url,
      config,
      parts: { roles: { http: true, workers: false } },
    })
    await createEffects(direct)
    const done = async (): Promise<number> => (await readEffects(direct)).length
    // At once, so that their transactions have a connection each.
    const ids = Array.from({ length: 24 }, (_, n) => `before-${n}`)
    await Promise.all(ids.map((id) => postWebhook(service, { id, type: 'work' })))
    await eventually(async () => (await done()) === 24, 'all is done')
    link.silence()
    for (let n = 0; n < 3; n += 1)
      assert.equal((await postWebhook(other, { id: `after-${n}`, type: 'work' })).status, 200)
    await eventually(async () => (await done()) === 27, 'what came later is done')
  })

  test('a session finds the path silent: the idle connections of the pool are not used any more', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using link = await openLink(home.url)
    // A busy machine takes longer for a connection than the service's own pool waits.
    await using direct = scoped(new pg.Client({ connectionString: home.url }))
    await direct.connect()
    await using service = await startTestService(postgres!, { databaseUrl: link.url })
    const { pool } = service.database as PostgresDatabase
    const claims = async (): Promise<number> => {
      const { rows } = await direct.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and application_name = 'postern-claims'`,
      )
      return rows[0]?.pid ?? 0
    }
    const first = await eventually(claims, 'the session is there')
    await Promise.all(Array.from({ length: 8 }, () => pool.query('select pg_sleep(0.3)')))
    link.silence()
    await eventually(async () => ![0, first].includes(await claims()), 'the session is remade')
    await Promise.all(Array.from({ length: 8 }, () => service.database.ping()))
    await eventually(async () => (await service.fetch('/readyz')).status === 200, 'it is ready')
  })
})
