// examples/spool-nats: webhooks wait in JetStream while PostgreSQL is unavailable.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { startNats, withoutNats } from '../../examples/spool-nats/nats-server.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { engines, openLink, startTestService, type TestService } from '../harness/index.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  writeEffect,
} from '../receiving/harness.ts'
import { childEnvironment } from '../harness/child-environment.ts'
import type { AnswerTo } from '../harness/answers.ts'

const folder = join(import.meta.dirname, '../../examples/spool-nats')
const postgres = engines.find(({ name }) => name === 'postgres')
const isInstalled = existsSync(join(folder, 'node_modules/@nats-io/jetstream'))
const skip = !isInstalled ? 'the packages of examples/spool-nats are not installed' : withoutNats

describe('examples/spool-nats', { skip }, () => {
  test('its own test passes', async () => {
    const ended = await promisify(execFile)(process.execPath, ['--test'], {
      cwd: folder,
      env: childEnvironment(),
    }).catch((error: { stdout: string }) => error)
    assert.match(ended.stdout, /fail 0\n/)
    assert.match(ended.stdout, /pass [1-9]/)
  })

  test(
    'two processes survive an outage of PostgreSQL, and one of them ends during it',
    { skip: !postgres && 'TEST_ENGINE leaves PostgreSQL out' },
    async () => {
      const { natsSpool } = await import('../../examples/spool-nats/nats-spool.ts')
      const nats = await startNats()
      const home = await postgres!.createMigratedDatabase()
      const link = await openLink(home.url)
      const direct = await openDatabase(home.url)
      const start = (): Promise<TestService> =>
        startTestService(postgres!, {
          databaseUrl: link.url,
          env: { HANDLER_TIMEOUT: '5', HANDLER_RETRY_SCHEDULE: '0,0,0,0,0' },
          config: {
            receiving: {
              spool: natsSpool({ connection: { servers: nats.server }, replicas: 1 }),
              handlers: { work: (event, { tx }) => writeEffect(tx, event.id) },
            },
          },
        })
      const services = [await start(), await start()]
      try {
        await createEffects(direct)
        const ids: string[] = []
        const send = async (service: TestService, name: string, count: number): Promise<void> => {
          for (let index = 0; index < count; index += 1) {
            const id = `${name}-${index}`
            assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200, id)
            ids.push(id)
          }
        }
        for (const [index, service] of services.entries()) await send(service, `before-${index}`, 3)
        link.cut()
        for (const [index, service] of services.entries()) await send(service, `away-${index}`, 20)
        await services[1]!.stop(2_000)
        link.mend()
        await eventually(async () => {
          const { spool } = (await (await services[0]!.fetch('/readyz')).json()) as AnswerTo<'GET /readyz'>
          return spool?.events === 0
        }, 'the spool is empty')
        await settled(direct)
        assert.deepEqual(await readEffects(direct), ids.toSorted())
      } finally {
        await Promise.all(services.map((service) => service.close()))
        link.close()
        await direct.close()
        await home.drop()
        await nats.close()
      }
    },
  )
})
