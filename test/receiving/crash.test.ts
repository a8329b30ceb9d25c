// kill -9 while events come in and are processed: every acknowledged event has one effect and one follow-up.
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine } from '../harness/engines.ts'
import { webhookSecret } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, readEffects } from './harness.ts'

const kills = 4

onEachEngine('kill -9', (engine) => {
  test('loses nothing that was acknowledged and does nothing twice', async () => {
    const home = await engine.createDatabase()
    const database = await openDatabase(home.url)
    await migrate(database)
    await createEffects(database)

    const acknowledged: string[] = []
    let child: ChildProcess | undefined
    try {
      for (let round = 0; round <= kills; round += 1) {
        const started = await start(home.url)
        child = started.child
        const service = {
          fetch: (path: string, init?: RequestInit) => fetch(new URL(path, started.baseUrl), init),
        }
        let killed = false
        const senders = Array.from({ length: 8 }, async (_, sender) => {
          for (let number = 0; number < 25; number += 1) {
            const id = `${round}-${sender}-${number}`
            try {
              const response = await postWebhook(service, { id, type: 'work' })
              if (response.status === 200) acknowledged.push(id)
              // At-least-once senders repeat themselves.
              if (number % 5 === 0) await postWebhook(service, { id, type: 'work' })
            } catch (error) {
              if (!killed) throw error
              return
            }
          }
        })
        if (round < kills) {
          await wait(40 + 35 * round)
          killed = true
          child.kill('SIGKILL')
          await once(child, 'exit')
        }
        await Promise.all(senders)
      }
      assert.ok(acknowledged.length > 50, `only ${acknowledged.length} were acknowledged`)
      await eventually(
        async () => {
          const row = await database.reader
            .selectFrom('inbox')
            .select('event')
            .where('status', '=', 'pending')
            .executeTakeFirst()
          return row === undefined
        },
        'all leases of the dead are taken over',
        30_000,
      )
      const effects = await readEffects(database)
      assert.deepEqual(effects, [...new Set(effects)], 'no event had two effects')
      const missing = acknowledged.filter((id) => !effects.includes(id))
      assert.deepEqual(missing, [], 'every acknowledged event had its effect')
      const followUps = await database.reader
        .selectFrom('events')
        .select('event_id')
        .where('type', '=', 'work.done')
        .execute()
      assert.deepEqual(
        followUps.map(({ event_id }) => event_id).toSorted(),
        effects.map((id) => `done-${id}`).toSorted(),
      )
    } finally {
      child?.kill('SIGKILL')
      await database.close()
      await home.drop()
    }
  })
})

async function start(databaseUrl: string): Promise<{ child: ChildProcess; baseUrl: string }> {
  const child = fork(join(import.meta.dirname, 'crash-service.ts'), {
    env: {
      ...process.env,
      PORT: '0',
      DATABASE_URL: databaseUrl,
      POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
      WEBHOOK_SECRET: webhookSecret,
      RATE_LIMIT: 'off',
      HANDLER_TIMEOUT: '0.5',
    },
  })
  const [message] = (await once(child, 'message')) as [{ baseUrl: string }]
  return { child, baseUrl: message.baseUrl }
}
