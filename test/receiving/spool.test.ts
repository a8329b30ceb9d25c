// The write lock of SQLite and acknowledgements: a handler that holds its transaction for seconds delays nobody.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { defineConfig } from '../../src/index.ts'
import { SqliteConnection } from '../../src/storage/sqlite/connection.ts'
import type { SqliteDatabase } from '../../src/storage/database.ts'
import { findRow, onSqlite, sqlite as engine, startedService, startTestService } from '../harness/index.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  takeWriteLock,
  writeEffect,
} from './harness.ts'

describe('the spool of SQLite', onSqlite, () => {
  let holding = false
  let begun = 0
  let release: () => void
  let held: Promise<void>
  const hold = (): void => {
    held = new Promise((resolve) => (release = resolve))
  }

  const service = startedService(engine!, () => ({
    // However slow the machine is: the transactions are to be open while events come.
    env: { HANDLER_RETRY_SCHEDULE: '0', HANDLER_TRANSACTION_TIMEOUT: '60' },
    handlers: {
      holding: async (event, { tx }) => {
        await writeEffect(tx, event.id)
        begun += 1
        holding = true
        await held
        holding = false
      },
      failing: async (event, { tx }) => {
        await writeEffect(tx, event.id)
        begun += 1
        holding = true
        await held
        holding = false
        throw new Error('rolled back')
      },
      quick: (event, { tx }) => writeEffect(tx, event.id),
    },
  }))
  before(async () => {
    await createEffects(service.database)
    // Once they have held up others, they get transactions of their own: those are the ones that are long.
    for (const type of ['holding', 'failing']) {
      hold()
      begun = 0
      await postWebhook(service, { id: `long ${type}`, type })
      await eventually(() => begun === 2)
      release()
      await eventually(async () => (await statusOf(`long ${type}`)) !== 'pending')
    }
    await service.database.transaction((tx) => sql`delete from effects`.execute(tx))
    await service.database.transaction((tx) => sql`delete from events`.execute(tx))
    holding = false
  })

  const statusOf = async (id: string): Promise<string | undefined> => {
    const { reader } = service.database
    const row = await findRow({ database: { reader } }, 'event_queue', { event_id: id })
    return row?.status
  }
  const eventIds = async (): Promise<string[]> => {
    const rows = await service.database.reader.selectFrom('events').select('event_id').orderBy('id').execute()
    return rows.map(({ event_id }) => event_id)
  }

  test("acknowledgements do not wait for a handler's transaction, and the event loop is never blocked", async () => {
    hold()
    await postWebhook(service, { id: 'holder', type: 'holding' })
    await eventually(() => holding)

    let longestTurn = 0
    let last = performance.now()
    const watch = setInterval(() => {
      longestTurn = Math.max(longestTurn, performance.now() - last)
      last = performance.now()
    }, 1)
    for (let index = 0; index < 100; index += 1) {
      assert.equal((await postWebhook(service, { id: `during-${index}`, type: 'quick' })).status, 200)
    }
    clearInterval(watch)
    assert.ok(holding, 'the handler held its transaction all the time')
    // A wait for the lock inside SQLite would last until the handler goes on, which it does not before this.
    assert.ok(longestTurn < 4_000, `the loop was blocked for ${longestTurn} ms`)
    assert.deepEqual(await eventIds(), ['holder'], 'nothing was written beside the transaction')

    release()
    await eventually(async () => (await eventIds()).length === 101, 'the spool was moved')
    await settled(service.database)
    const order = (await eventIds()).slice(1)
    assert.deepEqual(
      order,
      Array.from({ length: 100 }, (_, index) => `during-${index}`),
      'in the order of arrival',
    )
    assert.equal((await readEffects(service.database)).length, 101)
  })

  test('webhooks that are acknowledged meanwhile are not rolled back with the handler', async () => {
    hold()
    holding = false
    await postWebhook(service, { id: 'fails', type: 'failing' })
    await eventually(() => holding)
    assert.equal((await postWebhook(service, { id: 'survives', type: 'quick' })).status, 200)
    release()
    await eventually(async () => (await readEffects(service.database)).includes('survives'))
    assert.equal((await readEffects(service.database)).includes('fails'), false)
  })

  test('duplicates over the spool and the database are one event', async () => {
    await postWebhook(service, { id: 'twice', type: 'quick' })
    hold()
    holding = false
    await postWebhook(service, { id: 'holder-2', type: 'holding' })
    await eventually(() => holding)
    for (let index = 0; index < 10; index += 1) {
      assert.equal((await postWebhook(service, { id: 'twice', type: 'quick' })).status, 200)
      assert.equal((await postWebhook(service, { id: 'spooled twice', type: 'quick' })).status, 200)
    }
    release()
    await eventually(async () => (await readEffects(service.database)).includes('spooled twice'))
    await settled(service.database)
    const effects = await readEffects(service.database)
    for (const id of ['twice', 'spooled twice'])
      assert.equal(effects.filter((effect) => effect === id).length, 1, id)
  })

  test('the lock of another process delays no acknowledgement', async () => {
    const foreign = new SqliteConnection((service.database as SqliteDatabase).file)
    await takeWriteLock(foreign)
    assert.equal((await postWebhook(service, { id: 'foreign', type: 'quick' })).status, 200)
    assert.equal((await eventIds()).includes('foreign'), false)
    foreign.exec('rollback')
    foreign.close()
    await eventually(async () => (await readEffects(service.database)).includes('foreign'))
  })
})

test('a spooled event that the database refuses is set aside, and delays no other', onSqlite, async () => {
  await using service = await startTestService(engine!, {
    handlers: { quick: (event, { tx }) => writeEffect(tx, event.id) },
  })
  await createEffects(service.database)
  const { file } = service.database as SqliteDatabase
  const foreign = new SqliteConnection(file)
  foreign.exec(`create trigger refuse before insert on events when new.event_id = 'refused'
      begin select raise(abort, 'not this one'); end`)
  await takeWriteLock(foreign)
  for (const id of ['before', 'refused', 'behind'])
    assert.equal((await postWebhook(service, { id, type: 'quick' })).status, 200)
  foreign.exec('rollback')
  foreign.close()
  await eventually(async () => (await readEffects(service.database)).length === 2)
  assert.equal((await postWebhook(service, { id: 'later', type: 'quick' })).status, 200)
  await eventually(async () => (await readEffects(service.database)).includes('later'))
  const spool = new SqliteConnection(`${file}-spool`, { readOnly: true })
  assert.deepEqual(spool.all('select event_id, reason from set_aside').length, 1)
  spool.close()
})

test('spooled events are recovered once at the start', onSqlite, async () => {
  await using home = await engine!.createMigratedDatabase()
  const config = defineConfig({
    receiving: { handlers: { quick: (event, { tx }) => writeEffect(tx, event.id) } },
  })
  const first = await startTestService(engine!, { databaseUrl: home.url, config })
  await createEffects(first.database)
  const { file } = first.database as SqliteDatabase
  const foreign = new SqliteConnection(file)
  await takeWriteLock(foreign)
  await postWebhook(first, { id: 'spooled', type: 'quick' })
  assert.ok(existsSync(`${file}-spool`))
  // As a crash between the move and the deletion leaves it: in the database and in the spool.
  const spool = new SqliteConnection(`${file}-spool`)
  const rows = spool.all<Record<string, never>>('select * from spool')
  foreign.exec('rollback')
  foreign.close()
  await eventually(async () => (await readEffects(first.database)).length === 1)
  await first.stop()
  const [row] = rows
  const names = Object.keys(row!)
  spool.run(
    `insert into spool (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
    Object.values(row!),
  )
  spool.run(
    `insert into spool (source, event_id, type, content_type, payload, headers, received_at, status, due_at)
     select source, 'left behind', type, content_type, payload, headers, received_at, status, due_at from spool`,
  )
  spool.close()

  await using second = await startTestService(engine!, { databaseUrl: home.url, config })
  await eventually(async () => (await readEffects(second.database)).length === 2)
  await settled(second.database)
  assert.deepEqual(await readEffects(second.database), ['left behind', 'spooled'])
})
