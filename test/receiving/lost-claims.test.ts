// What was under way when the database went away goes on soon after it is back: leases of ten minutes end much later.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import type { HandlerContext, ReceivedEvent } from '../../src/index.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Chance } from '../harness/chance.ts'
import { onPostgres, onSqlite, openLink, postgres, scoped, sqlite } from '../harness/index.ts'
import { startTestService } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, readEffects, takeWriteLock, writeEffect } from './harness.ts'

/** Leases end ten minutes later than their handlers began. */
const env = { HANDLER_TIMEOUT: '600', HANDLER_RETRY_SCHEDULE: '0,0,0,0,0' }
/** Milliseconds within which all events must be done: far below a lease, far above the two seconds that a quiet machine needs. */
const soon = 300_000
/** Milliseconds between two webhooks of the slow handler, so that it keeps up with them: eight at once, 300 ms each. */
const slowPace = 100

const keyOf = (event: ReceivedEvent): string | undefined => (event.payload as { key?: string }).key

test(
  'sessions end at any moment under load: no event waits for the end of a lease',
  onPostgres,
  async (context: TestContext) => {
    const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31)
    context.diagnostic(`TEST_SEED=${seed}`)
    const chance = new Chance(seed)
    await using home = await postgres!.createMigratedDatabase()
    await using direct = scoped(await openDatabase(home.url))
    await using killer = scoped(new pg.Client({ connectionString: home.url }))
    await killer.connect()
    await using service = await startTestService(postgres!, {
      databaseUrl: home.url,
      env,
      handlers: {
        quick: (event, { tx }) => writeEffect(tx, event.id),
        async slow(event, { tx }) {
          await wait(300)
          await writeEffect(tx, event.id)
        },
        ordered: {
          orderBy: keyOf,
          handle: (event, { tx }) => writeEffect(tx, event.id),
        },
      },
    })
    await createEffects(direct)
    const acknowledged = new Set<string>()
    let loading = true
    const load = async (type: string): Promise<void> => {
      for (let n = 0; loading; n += 1) {
        const id = `${type}-${n}`
        const { status } = await postWebhook(service, { id, type, key: `key-${n % 3}` })
        if (status === 200) acknowledged.add(id)
        else assert.equal(status, 503)
        if (type === 'slow') await wait(slowPace)
      }
    }
    const loads = ['quick', 'quick', 'slow', 'ordered', 'ordered'].map((type, n) => load(type).then(() => n))
    for (let kills = 0; kills < Number(process.env['TEST_RUNS'] ?? 25); kills += 1) {
      const before = acknowledged.size
      await wait(50 + 350 * chance.next())
      await eventually(() => acknowledged.size > before, 'events are acknowledged')
      const sessions = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
      await killer.query(`select pg_terminate_backend(pid) ${sessions} and application_name like 'postern%'`)
    }
    loading = false
    await Promise.all(loads)
    const ended = performance.now()
    const effects = await eventually(
      async () => {
        const found = await readEffects(direct)
        const set = new Set(found)
        return [...acknowledged].every((id) => set.has(id)) ? found : undefined
      },
      'every acknowledged event has its effect',
      soon,
    )
    context.diagnostic(
      `${acknowledged.size} events, all done after ${Math.round(performance.now() - ended)} ms`,
    )
    assert.equal(effects.length, new Set(effects).size)
  },
)

const effectsOf = (database: Database, count: number): Promise<string[]> =>
  eventually(
    async () => {
      const found = await readEffects(database)
      return found.length >= count ? found : undefined
    },
    'every event has its effect',
    soon,
  )

const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(2, '0')}`)

test('responses to claims are lost: the claimed events are released', onPostgres, async () => {
  await using home = await postgres!.createMigratedDatabase()
  await using direct = scoped(await openDatabase(home.url))
  await using link = await openLink(home.url)
  const work = (event: ReceivedEvent, { tx }: HandlerContext): Promise<void> => writeEffect(tx, event.id)
  await using service = await startTestService(postgres!, {
    databaseUrl: link.url,
    env,
    config: { receiving: { handlers: { work, ordered: { orderBy: keyOf, handle: work } } } },
  })
  await createEffects(direct)
  const events = [...ids('work', 10), ...ids('ordered', 10)]
  for (const [index, id] of events.entries()) {
    if (index % 10 === 0) link.loseAnswers('event_queue_claim\0', 1)
    const body = { id, type: id.split('-')[0], key: 'one' }
    await eventually(async () => (await postWebhook(service, body)).status === 200)
    if (index % 10 === 0) await eventually(() => link.toLose === 0, 'an answer is lost')
  }
  const effects = await effectsOf(direct, events.length)
  assert.deepEqual(effects, events.toSorted())
  const { rows } = await sql<{ attempts: number }>`select distinct attempts from event_queue`.execute(
    direct.reader,
  )
  assert.deepEqual(rows, [{ attempts: 1 }], 'a claim whose answer was lost is no attempt')
})

for (const { name, away } of [
  { name: 'for a moment', away: 300 },
  { name: "for so long that its claims are others'", away: 4_000 },
]) {
  test(
    `the database is unavailable ${name} while handlers run: they run again when it is available`,
    onPostgres,
    async () => {
      await using home = await postgres!.createMigratedDatabase()
      await using direct = scoped(await openDatabase(home.url))
      await using link = await openLink(home.url)
      const begun: string[] = []
      const gate = Promise.withResolvers<void>()
      await using service = await startTestService(postgres!, {
        databaseUrl: link.url,
        env,
        handlers: {
          async work(event, { tx }) {
            begun.push(event.id)
            await gate.promise
            await writeEffect(tx, event.id)
          },
          async failing(event, { tx }) {
            begun.push(event.id)
            await gate.promise
            if (event.attempt === 1) throw new Error('the first attempt fails')
            await writeEffect(tx, event.id)
          },
          ordered: {
            orderBy: keyOf,
            async handle(event, { tx }) {
              begun.push(event.id)
              await gate.promise
              await writeEffect(tx, event.id)
            },
          },
        },
      })
      await createEffects(direct)
      const events = [...ids('work', 5), ...ids('failing', 5), ...ids('ordered', 5)]
      for (const id of events)
        assert.equal((await postWebhook(service, { id, type: id.split('-')[0], key: 'one' })).status, 200)
      // Of those with one order key only the first is begun.
      await eventually(() => begun.length === 11)
      link.cut()
      gate.resolve()
      await wait(away)
      link.mend()
      const effects = await effectsOf(direct, events.length)
      assert.deepEqual(effects, events.toSorted())
    },
  )
}

test(
  'another program locks the file while a handler fails: the failure is recorded when the lock is free',
  onSqlite,
  async () => {
    const lines: string[] = []
    const gate = Promise.withResolvers<void>()
    let begun = 0
    await using service = await startTestService(sqlite!, {
      env,
      parts: { log: createLog('warn', { write: (line) => void lines.push(line) }) },
      handlers: {
        async work(event, { tx }) {
          begun += 1
          await gate.promise
          if (event.attempt === 1) throw new Error('the first attempt fails')
          await writeEffect(tx, event.id)
        },
      },
    })
    await using other = scoped(new DatabaseSync(service.databaseUrl.replace('sqlite:', '')))
    await createEffects(service.database)
    await postWebhook(service, { id: 'failing', type: 'work' })
    await eventually(() => begun === 1)
    await takeWriteLock(other)
    gate.resolve()
    await eventually(() => lines.some((line) => line.includes('could not be recorded')), 'it fails')
    other.exec('rollback')
    await eventually(
      async () => (await readEffects(service.database)).length === 1,
      'it has its effect at the second attempt',
      soon,
    )
  },
)
