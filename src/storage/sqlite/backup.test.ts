import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { backUpSqlite, filesInTheWay, restoreSqlite } from './backup.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

test('a restore that fails leaves no file that blocks the next one', async () => {
  const folder = temporaryFolder()
  const source = join(folder, 'source.db')
  for (const file of [source, `${source}-spool`]) {
    const database = new DatabaseSync(file)
    database.exec('create table anything (id integer)')
    database.close()
  }
  const file = join(folder, 'a.backup')
  await backUpSqlite(source, file)
  const target = join(folder, 'restored', 'postern.db')
  // A database cannot take the place of a folder.
  mkdirSync(target, { recursive: true })
  assert.throws(() => restoreSqlite(file, target))
  rmSync(target, { recursive: true })
  assert.deepEqual(filesInTheWay(target), [])
  restoreSqlite(file, target)
  assert.deepEqual(readdirSync(join(folder, 'restored')), ['postern.db', 'postern.db-spool'])
})
