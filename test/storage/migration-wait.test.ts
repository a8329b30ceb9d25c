// A process that starts while another one migrates the database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { locks } from '../../src/storage/advisory-locks.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onPostgres, postgres as engine } from '../harness/engines.ts'
import { ManualClock } from '../harness/manual-clock.ts'
import { eventually } from '../receiving/harness.ts'

test('a process that waits for the migration of another one says so once', onPostgres, async () => {
  await using home = await engine!.createMigratedDatabase()
  const [database, other] = [await openDatabase(home.url), await openDatabase(home.url)]
  assert.ok(database.engine === 'postgres' && other.engine === 'postgres')
  const clock = new ManualClock()
  let told = 0
  const apply = (): Promise<string[]> =>
    migrate(database, migrations, { clock, onWait: () => void (told += 1) })
  try {
    await apply()
    clock.pass(60_000)
    assert.equal(told, 0, 'it did not wait')
    const holder = await other.pool.connect()
    await holder.query('select pg_advisory_lock($1)', [locks.migration])
    const applied = apply()
    await eventually(async () => {
      const waiting = `select 1 from pg_locks where locktype = 'advisory' and objid = ${locks.migration} and not granted
        and database = (select oid from pg_database where datname = current_database())`
      return (await other.pool.query(waiting)).rows.length > 0
    })
    clock.pass(4_999)
    assert.equal(told, 0)
    clock.pass(60_000)
    clock.pass(60_000)
    assert.equal(told, 1)
    holder.release(true)
    assert.deepEqual(await applied, [])
  } finally {
    await database.close()
    await other.close()
  }
})
