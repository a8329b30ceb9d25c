// The disk is full, and then it is not: 503 with Retry-After meanwhile, recovery without a restart, nothing that was
// acknowledged is lost, nothing is done twice.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { defineConfig } from '../../src/index.ts'
import type { SqliteDatabase } from '../../src/storage/database.ts'
import { SqliteConnection } from '../../src/storage/sqlite/connection.ts'
import { onPostgres, onSqlite, postgres, scoped, sqlite } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { startOwnPostgres } from '../harness/postgres.ts'
import { mountSmallDisk, type SmallDisk } from '../harness/small-disk.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  takeWriteLock,
  writeEffect,
} from './harness.ts'

const config = defineConfig({
  receiving: { handlers: { work: (event, { tx }) => writeEffect(tx, event.id, event.attempt) } },
})
const env = { HANDLER_TIMEOUT: '600', HANDLER_RETRY_SCHEDULE: '0,0,0,0,0,0,0,0' }

/** Skips the test, and says why, where no small disk can be had. */
async function onSmallDisk(
  context: TestContext,
  megabytes: number,
  work: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const disk = mountSmallDisk(megabytes)
  if (typeof disk === 'string') {
    context.diagnostic(disk)
    context.skip(disk)
    return
  }
  try {
    await work(disk)
  } finally {
    disk.unmount()
  }
}

/** A sender that keeps to its contract: what is not acknowledged is sent again. */
class Sender {
  readonly acknowledged = new Set<string>()
  readonly refused = new Set<string>()
  readonly #service: TestService

  constructor(service: TestService) {
    this.#service = service
  }

  /** @param size bytes that no database can make smaller. */
  async send(id: string, size = 20_000): Promise<boolean> {
    const pad = randomBytes(Math.ceil(size / 2)).toString('hex')
    const response = await postWebhook(this.#service, { id, type: 'work', pad })
    const text = await response.text()
    if (response.status === 200) {
      this.acknowledged.add(id)
      this.refused.delete(id)
      return true
    }
    assert.equal(response.status, 503, text)
    assert.ok(Number(response.headers.get('retry-after')) > 0)
    assert.equal((JSON.parse(text) as { code: string }).code, 'storage-unavailable')
    this.refused.add(id)
    return false
  }

  /** Sends until nothing more is taken. */
  async untilFull(prefix: string): Promise<void> {
    let refusals = 0
    for (let index = 0; refusals < 10; index += 1) {
      assert.ok(index < 2_000, 'the disk never became full')
      if (!(await this.send(`${prefix}-${index}`))) refusals += 1
    }
  }

  /** Whether the path of the readiness says that webhooks are rejected, as it does for some seconds after each rejected one. */
  async seesRejection(path: string): Promise<boolean> {
    await this.send('asked for readiness')
    return (await this.#service.fetch(path)).status === 503
  }

  /** What was refused is sent again; then each event has had its effect, once. */
  async settle(): Promise<void> {
    await eventually(() => this.send('recovered'), 'webhooks are taken again')
    for (const id of this.refused) await eventually(() => this.send(id), id)
    // And everything once more, as a sender does whose acknowledgement was lost.
    for (const id of this.acknowledged) assert.ok(await this.send(id, 10))
    const { database } = this.#service
    await eventually(
      async () => (await readEffects(database)).length >= this.acknowledged.size,
      'every acknowledged event has its effect',
    )
    await settled(database)
    assert.deepEqual(await readEffects(database), [...this.acknowledged].toSorted())
  }
}

test('SQLite: the database and its write-ahead log', onSqlite, (context) =>
  onSmallDisk(context, 16, async (disk) => {
    const databaseUrl = `sqlite:${join(disk.folder, 'postern.db')}`
    await using service = await startTestService(sqlite!, { databaseUrl, env, config })
    await createEffects(service.database)
    const sender = new Sender(service)
    for (let round = 0; round < 3; round += 1) {
      assert.ok(await sender.send(`before-${round}`))
      disk.fill()
      await sender.untilFull(`during-${round}`)
      assert.equal((await service.fetch('/healthz')).status, 200)
      for (const path of ['/readyz', '/readyz?for=webhooks'])
        await eventually(() => sender.seesRejection(path), `${path}: webhooks are rejected`)
      assert.equal((await service.fetch('/events?limit=3')).status, 200, 'what is there can be read')
      disk.free()
      await eventually(() => sender.send(`after-${round}`), 'webhooks are taken again')
      assert.equal((await service.fetch('/readyz?for=webhooks')).status, 200)
    }
    await sender.settle()
    const [check] = (service.database as SqliteDatabase).readConnection.all('pragma integrity_check')
    assert.deepEqual({ ...check }, { integrity_check: 'ok' })
  }),
)

test('SQLite: the spool is full and cannot be moved', onSqlite, (context) =>
  onSmallDisk(context, 16, async (disk) => {
    const file = join(disk.folder, 'postern.db')
    await using service = await startTestService(sqlite!, { databaseUrl: `sqlite:${file}`, env, config })
    await createEffects(service.database)
    const sender = new Sender(service)
    for (let round = 0; round < 2; round += 1) {
      const foreign = new SqliteConnection(file)
      await takeWriteLock(foreign)
      assert.ok(await sender.send(`spooled-${round}`))
      assert.ok(statSync(`${file}-spool`).size > 0)
      disk.fill()
      await sender.untilFull(`to-the-spool-${round}`)
      await eventually(() => sender.seesRejection('/readyz?for=webhooks'), 'webhooks are rejected')
      // The lock is free again, and still nothing can be moved.
      foreign.exec('rollback')
      foreign.close()
      for (let index = 0; index < 5; index += 1) await sender.send(`beside-the-spool-${round}-${index}`)
      disk.free()
      await eventually(() => sender.send(`after-${round}`), 'webhooks are taken again')
    }
    await sender.settle()
  }),
)

test('PostgreSQL: a tablespace', onPostgres, (context) =>
  onSmallDisk(context, 40, async (disk) => {
    // A server of its own: a full tablespace fails the checkpoints that the other tests' databases need.
    await using server = scoped(await startOwnPostgres())
    const database = await createDatabaseOn(server.url, disk)
    await using service = await startTestService(postgres!, { databaseUrl: database.url, env, config })
    await createEffects(service.database)
    const sender = new Sender(service)
    for (let round = 0; round < 2; round += 1) {
      assert.ok(await sender.send(`before-${round}`))
      disk.fill()
      await sender.untilFull(`during-${round}`)
      disk.free()
      await eventually(() => sender.send(`after-${round}`), 'webhooks are taken again')
    }
    await sender.settle()
  }),
)

/** A database whose tables lie on the disk. */
async function createDatabaseOn(server: string, { folder }: SmallDisk): Promise<{ url: string }> {
  await using client = scoped(new pg.Client({ connectionString: server }))
  await client.connect()
  const { rows } = await client.query<{ data_directory: string }>('show data_directory')
  const home = statSync(rows[0]!.data_directory)
  const place = join(folder, 'tables')
  mkdirSync(place)
  chownSync(place, home.uid, home.gid)
  await client.query(`create tablespace small location '${place}'`)
  await client.query('create database small template template0 tablespace small')
  const url = new URL(server)
  url.pathname = '/small'
  return { url: url.href }
}
