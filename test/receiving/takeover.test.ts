// Several processes on one PostgreSQL: what a killed one had claimed is taken over soon, what a living one has is not.
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { engines } from '../harness/engines.ts'
import { startTestService, webhookSecret } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, readEffects } from './harness.ts'

const engine = engines.find(({ name }) => name === 'postgres')
const skip = !engine && 'TEST_ENGINE leaves PostgreSQL out'

interface Process {
  child: ChildProcess
  baseUrl: string
  /** The ids that its handler has begun, in order. */
  begun: string[]
}

async function start(databaseUrl: string): Promise<Process> {
  const child = fork(join(import.meta.dirname, 'crash-service.ts'), {
    env: {
      ...process.env,
      PORT: '0',
      DATABASE_URL: databaseUrl,
      POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
      WEBHOOK_SECRET: webhookSecret,
      RATE_LIMIT: 'off',
      HANDLER_TIMEOUT: '60',
    },
  })
  const begun: string[] = []
  child.on('message', (message: { begun?: string }) => {
    if (message.begun !== undefined) begun.push(message.begun)
  })
  const [message] = (await once(child, 'message')) as [{ baseUrl: string }]
  return { child, baseUrl: message.baseUrl, begun }
}

test(
  'a killed process is survived by its events; one that lost its session keeps them',
  { skip },
  async () => {
    const home = await engine!.createDatabase()
    const database = (await openDatabase(home.url)) as PostgresDatabase
    await migrate(database)
    await createEffects(database)
    const processes: Process[] = []
    try {
      for (let count = 0; count < 2; count += 1) processes.push(await start(home.url))
      const { baseUrl } = processes[0]!
      const response = await postWebhook(
        { fetch: (path, init) => fetch(new URL(path, baseUrl), init) },
        { id: 'stuck', type: 'stuck' },
      )
      assert.equal(response.status, 200)
      const owner = await eventually(() => processes.find(({ begun }) => begun.length > 0))
      const other = processes.find((one) => one !== owner)!

      // Longer than a take-over would need: sessions break now and then, and are made anew.
      await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'postern-claims' and datname = current_database()`,
      )
      await wait(6_000)
      assert.deepEqual([owner.begun, other.begun], [['stuck'], []], 'no two processes work on one event')

      owner.child.kill('SIGKILL')
      await eventually(() => other.begun.length > 0, 'the other process has taken over')
      await eventually(async () => (await readEffects(database)).length === 1)
      const claimers = await database.pool.query('select id from inbox_claimers')
      assert.equal(claimers.rowCount, 1, 'the dead one is off the list')
    } finally {
      for (const { child } of processes) child.kill('SIGKILL')
      await database.close()
      await home.drop()
    }
  },
)

test('a process that stops leaves nothing for others to wait for', { skip }, async () => {
  const home = await engine!.createDatabase()
  const database = (await openDatabase(home.url)) as PostgresDatabase
  await migrate(database)
  await createEffects(database)
  const config = { receiving: { handlers: {} } }
  try {
    const service = await startTestService(engine!, { databaseUrl: home.url, config })
    await eventually(async () => (await database.pool.query('select id from inbox_claimers')).rowCount === 1)
    await service.close()
    assert.equal((await database.pool.query('select id from inbox_claimers')).rowCount, 0)
  } finally {
    await database.close()
    await home.drop()
  }
})
