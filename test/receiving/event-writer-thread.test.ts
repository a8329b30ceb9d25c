// The thread that stores received events on SQLite, beside its spool.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type IncomingEvent, packEvents } from '../../src/receiving/queue/store.ts'
import { isRefusedValue } from '../../src/storage/unavailable.ts'
import type { EventTasks } from '../../src/receiving/sqlite/event-writer-thread.ts'
import { SqliteConnection } from '../../src/storage/sqlite/connection.ts'
import { ThreadClient } from '../../src/storage/sqlite/thread-client.ts'
import { onSqlite, scoped, sqlite as engine } from '../harness/index.ts'
import { incomingEvent } from './incoming-event.ts'

const eventOf = (eventId: string, bytes = 10): IncomingEvent =>
  incomingEvent(eventId, { payload: new Uint8Array(bytes) })

/** The thread on a database of its own, and a connection beside it. */
async function open() {
  const home = await engine!.createMigratedDatabase()
  const file = home.url.slice('sqlite:'.length)
  const module = new URL('../../src/receiving/sqlite/event-writer-thread.ts', import.meta.url)
  const beside = new SqliteConnection(file)
  const thread = new ThreadClient<EventTasks>({ module, name: 'events', workerData: beside.opened })
  return {
    beside,
    insert: (events: readonly IncomingEvent[], mayWrite = true) =>
      thread.call('insert', { rows: packEvents(events), mayWrite }),
    move: () => thread.call('move', undefined),
    /** A connection to the file of the spool. */
    openSpool: () => new SqliteConnection(`${file}-spool`),
    ids: (): string[] =>
      beside.all<{ id: string }>('select event_id as id from events order by id').map(({ id }) => id),
    close: async (): Promise<void> => {
      await thread.close()
      beside.close()
      await home.drop()
    },
  }
}

test('a spool that cannot be read leaves the write lock to others', onSqlite, async () => {
  await using staged = scoped(await open())
  const { beside, insert, move, openSpool } = staged
  await insert([eventOf('spooled')], false)
  const spool = openSpool()
  spool.exec('alter table spool rename to hidden')
  await assert.rejects(move(), /no such table/)
  beside.exec('begin immediate')
  beside.exec('rollback')
  spool.exec('alter table hidden rename to spool')
  spool.close()
  assert.deepEqual((await move()).spooled, 0)
})

test(
  'an event waits behind all spooled ones, also if these are too large for one read',
  onSqlite,
  async () => {
    await using staged = scoped(await open())
    const { insert, move, ids } = staged
    const large = ['1', '2', '3'].map((id) => eventOf(id, 3 * 1024 * 1024))
    await insert(large, false)
    assert.deepEqual(await insert([eventOf('4')]), {
      stored: true,
      spooled: 2,
      refusals: [],
      duplicates: [],
    })
    assert.deepEqual(ids(), ['1', '2'])
    await move()
    assert.deepEqual(ids(), ['1', '2', '3', '4'])
    assert.equal((await insert([eventOf('5')])).spooled, 0)
    assert.deepEqual(ids(), ['1', '2', '3', '4', '5'])
  },
)

test('only a refused event is set aside: others stay in the spool after an error', onSqlite, async () => {
  await using staged = scoped(await open())
  const { beside, insert, move, ids } = staged
  await insert([eventOf('1'), eventOf('2')], false)
  beside.exec('alter table events rename to hidden')
  await assert.rejects(move(), /no such table/)
  await assert.rejects(insert([eventOf('3')]), /no such table/)
  beside.exec('alter table hidden rename to events')
  const { spooled, refusals } = await move()
  assert.deepEqual([spooled, refusals], [0, []])
  assert.deepEqual(ids(), ['1', '2'])
})

test('the error of a refused event says so to its caller', onSqlite, async () => {
  await using scene = scoped(await open())
  const { beside, insert } = scene
  beside.exec(`create trigger refuse before insert on events when new.event_id = 'refused'
      begin select raise(abort, 'not this one'); end`)
  await assert.rejects(insert([eventOf('refused')]), isRefusedValue)
})
