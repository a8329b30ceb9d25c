import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../runtime/clock.ts'
import { openSqlite } from '../../storage/sqlite/database.ts'
import { EventInserter } from './event-inserter.ts'
import { spoolBeside, SpoolFile } from './spool-file.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

test('a start needs a thread only if there is a spool', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'postern.db')
  const database = openSqlite(file)
  const errors: unknown[] = []
  const inserter = new EventInserter({
    database,
    clock: systemClock,
    onError: (error) => errors.push(error),
    onMoved: () => undefined,
  })
  let started = 0
  const note = (): unknown => (started += 1)
  process.on('worker', note)
  inserter.start()
  await new Promise(setImmediate)
  assert.equal(started, 0)
  new SpoolFile(spoolBeside(file), { create: true }).close()
  inserter.start()
  await new Promise(setImmediate)
  assert.equal(started, 1)
  process.off('worker', note)
  await inserter.close()
  await database.close()
  assert.deepEqual(errors, [])
})
