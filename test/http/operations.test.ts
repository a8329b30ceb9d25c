// What an administrator sees of the running service: queues, versions, settings in force, diagnostics.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { settings } from '../../src/config/settings.ts'
import { mostCounted } from '../../src/storage/sizes.ts'
import { adminKey, each, onEachEngine, startedService, webhookSecret } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

type Queues = AnswerTo<'GET /queues'>
type Diagnosis = AnswerTo<'GET /diagnostics'>

onEachEngine('calls of the operator', (engine) => {
  const service = startedService(engine, () => ({
    env: {
      PAYLOAD_RETENTION_DAYS: 'off',
      ACME_CLIENT_ID: 'shop',
      ACME_CLIENT_SECRET: 'hidden-one',
      // Nothing listens there.
      ACME_ISSUER: 'http://127.0.0.1:9',
    },
    // Events without a handler would not count as waiting for one.
    config: { receiving: { handlers: { b: () => {} } } },
    // Without workers, what is stored waits.
    parts: { roles: { http: true, workers: false } },
  }))

  const read = async <T>(path: string): Promise<T> => {
    const answer = await service.admin(path)
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as T
  }
  const insertPending = (from: number, count: number, dueAt: number): Promise<void> =>
    service.database.transaction(async (tx) => {
      for (let begun = 0; begun < count; begun += 500) {
        const numbers = Array.from({ length: Math.min(500, count - begun) }, (_, at) => from + begun + at)
        await tx
          .insertInto('event_queue')
          .values(
            numbers.map((event) => ({
              event,
              event_id: `e${event}`,
              source: 'a',
              type: 'b',
              status: 'pending' as const,
              due_at: dueAt,
              attempts: 0,
              attempts_before: 0,
            })),
          )
          .execute()
      }
    })

  test('the guide names the workers of /readyz', async () => {
    // A busy service may answer 503, without them.
    const oldestDueSeconds = await eventually(async () => {
      const answer = await service.admin('/readyz')
      return answer.ok && ((await answer.json()) as { oldestDueSeconds: object }).oldestDueSeconds
    })
    const guide = new URL('../../docs/guides/operating/monitoring.md', import.meta.url)
    const [, table = ''] = (await readFile(guide, 'utf8')).split('| worker | its work |')
    const named = [...table.split('\n\n')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name)
    assert.deepEqual(new Set(named), new Set(Object.keys(oldestDueSeconds)))
  })

  test('GET /queues counts what waits, is due and failed, up to a bound', async () => {
    assert.equal((await postWebhook(service, { id: 'one', type: 'order.paid' })).status, 200)
    const now = Date.now()
    await insertPending(900, 1, now - 5_000)
    await insertPending(1_000, 2, now + 3_600_000)
    await service.database.transaction((tx) =>
      tx.updateTable('event_queue').set({ failed_at: now, attempts: 1 }).where('event', '=', 1_000).execute(),
    )
    await insertPending(1_100, 1, now)
    await service.database.transaction((tx) =>
      tx
        .updateTable('event_queue')
        .set({ status: 'blocked', order_key: 'k' })
        .where('event', '=', 1_100)
        .execute(),
    )
    await service.database.transaction((tx) =>
      tx.updateTable('event_queue').set({ status: 'failed' }).where('event', '=', 1_001).execute(),
    )
    const { receiving, emitting, spool, retention, database, tables } = await read<Queues>('/queues')
    const [one, none] = [
      { count: 1, more: false },
      { count: 0, more: false },
    ]
    assert.deepEqual(
      [receiving.waiting, receiving.due, receiving.retrying, receiving.blocked, receiving.failed],
      [{ count: 2, more: false }, one, one, one, one],
    )
    assert.ok(receiving.oldestDueSeconds >= 5 && receiving.oldestDueSeconds < 60)
    assert.deepEqual(
      [emitting.waiting, emitting.due, emitting.retrying, emitting.dead],
      [none, none, none, none],
    )
    assert.equal(spool, null)
    assert.deepEqual([database.engine, database.bytes > 10_000], [engine.name, true])
    const events = retention.find(({ setting }) => setting === 'PAYLOAD_RETENTION_DAYS')!
    assert.equal(events.seconds, null)
    assert.ok(Date.parse(events.oldestAt!) <= Date.now())
    assert.ok(tables.some(({ name }) => name === 'event_queue'))
    await insertPending(10_000, mostCounted, now + 3_600_000)
    const { waiting } = (await read<Queues>('/queues')).receiving
    assert.deepEqual(waiting, { count: mostCounted, more: true })
  })

  test('GET /version names what runs', async () => {
    const shown = await read<AnswerTo<'GET /version'>>('/version')
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
    assert.deepEqual(
      [shown.version, shown.node, shown.engine, shown.processes],
      [version, process.versions.node, engine.name, 1],
    )
    assert.match(shown.engineVersion, engine.name === 'sqlite' ? /^3\./ : /^\d\d/)
    assert.ok(shown.schema.migrations > 0 && shown.schema.pending.length === 0)
    assert.ok(Date.parse(shown.schema.migratedAt!) <= Date.now() && Date.parse(shown.startedAt) <= Date.now())
  })

  test('GET /settings shows every setting with its origin, and no secret', async () => {
    const answer = await service.admin('/settings')
    const text = await answer.clone().text()
    const { data } = (await answer.json()) as AnswerTo<'GET /settings'>
    const named = new Map(data.map((one) => [one.name, one]))
    for (const { env } of Object.values(settings)) assert.ok(named.has(env), env)
    const shown = (name: string): unknown[] => {
      const { value, isSet, secret, origin } = named.get(name)!
      return [value, isSet, secret, origin]
    }
    assert.deepEqual(shown('PAYLOAD_RETENTION_DAYS'), ['off', true, false, 'environment'])
    assert.deepEqual(shown('EMIT_TIMEOUT'), ['15', true, false, 'default'])
    assert.deepEqual(shown('ADMIN_IDENTITIES'), ['demo:ada', true, false, 'demo mode'])
    assert.deepEqual(shown('SPOOL_URL'), [null, false, false, 'not set'])
    assert.deepEqual(shown('POSTERN_SECRET'), [null, true, true, 'environment'])
    assert.deepEqual(shown('DATABASE_URL'), [null, true, true, 'environment'])
    assert.deepEqual(shown('ACME_CLIENT_ID'), ['shop', true, false, 'environment'])
    assert.deepEqual(shown('ACME_CLIENT_SECRET'), [null, true, true, 'environment'])
    for (const secret of [adminKey, webhookSecret, 'hidden-one', 'test-master-secret'])
      assert.ok(!text.includes(secret), secret)
  })

  test('GET /diagnostics finds what `postern doctor` finds, all at once or check by check', async () => {
    const all = await read<Diagnosis>('/diagnostics')
    assert.deepEqual([...new Set(each(all.findings, 'check'))].slice(0, 2), ['settings', 'database'])
    const found = (about: string): Diagnosis['findings'][number] | undefined =>
      all.findings.find((finding) => finding.about === about)
    assert.equal(found('database')?.text, `${engine.name} is available`)
    assert.equal(found('migrations')?.text, 'up to date')
    assert.match(found('received events')!.text, /^10,001 or more wait/)
    assert.equal(all.faults, all.findings.filter(({ state }) => state === 'fault').length)
    assert.equal(found('settings')?.state, 'ok')
    assert.equal(found('provider acme')?.state, 'fault')
    assert.match(found('provider acme')!.text, /cannot be read/)
    const [one, other] = await Promise.all([
      read<Diagnosis>('/diagnostics?check=contents'),
      read<Diagnosis>('/diagnostics?check=contents'),
    ])
    assert.ok(one.findings.length > 3 && one.findings.every(({ check }) => check === 'contents'))
    assert.deepEqual(other.findings, one.findings)
    assert.equal((await service.admin('/diagnostics?check=everything')).status, 400)
    await service.database.transaction((tx) =>
      tx
        .insertInto('api_keys')
        .values({
          id: 'forever',
          name: 'a',
          role: 'admin',
          scopes: 'admin',
          prefix: 'pk_',
          key_hash: Buffer.from('x'),
          created_at: 1,
        })
        .execute(),
    )
    const { findings } = await read<Diagnosis>('/diagnostics?check=database')
    const keys = findings.find(({ about }) => about === 'API keys')
    assert.equal(keys?.state, 'warning')
    assert.match(keys.text, /^forever with the scope/)
    assert.match(keys.advice!, /postern keys revoke/)
  })
})
