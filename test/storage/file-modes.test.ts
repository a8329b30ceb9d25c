// The permissions of the files of an SQLite database.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { SpoolFile } from '../../src/receiving/sqlite/spool-file.ts'
import { checkModes } from '../../src/diagnostics/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { exposedFiles } from '../../src/storage/sqlite/files.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { postern } from '../cli/command.ts'
import { scoped, sqlite as engine, startTestService } from '../harness/index.ts'
import { incomingEvent } from '../receiving/incoming-event.ts'

const skip =
  (process.platform === 'win32' && 'Windows has no such permissions') ||
  (!engine && 'TEST_ENGINE leaves SQLite out')

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe('files of an SQLite database', { skip }, () => {
  let home: string
  let umask: number
  /** A folder that exists and that everybody may read, as `mkdir` makes it. */
  const folder = (name: string): string => {
    const path = join(home, name)
    mkdirSync(path)
    chmodSync(path, 0o755)
    return path
  }
  before(() => {
    umask = process.umask(0o022)
    home = mkdtempSync(join(tmpdir(), 'postern-modes-'))
    chmodSync(home, 0o755)
  })
  after(async () => {
    process.umask(umask)
    await rm(home, { recursive: true, force: true })
  })

  test('are readable by their owner only, in a folder that everybody can read, with umask 022', async () => {
    const data = folder('service')
    await using service = await startTestService(engine!, {
      databaseUrl: `sqlite:${join(data, 'postern.db')}`,
    })
    await service.admin('/subscribers', { method: 'POST', json: { url: 'http://127.0.0.1:9/' } })
    const names = readdirSync(data).toSorted()
    for (const name of ['postern.db', 'postern.db-owner', 'postern.db-shm', 'postern.db-wal'])
      assert.ok(names.includes(name), `${name} among ${names.join()}`)
    for (const name of names) assert.equal(mode(join(data, name)), '600', name)
    assert.equal(mode(data), '755', 'the folder is left as it was')
    assert.deepEqual(exposedFiles(join(data, 'postern.db')), [])
  })

  test('so are the spool and its log', async () => {
    const data = folder('spool')
    await using spool = scoped(new SpoolFile(join(data, 'postern.db-spool')))
    spool.add([incomingEvent('e1')])
    const names = readdirSync(data)
    assert.ok(names.length >= 2, names.join())
    for (const name of names) assert.equal(mode(join(data, name)), '600', name)
  })

  test('a folder that the service creates is accessible to its owner only', async () => {
    const database = openSqlite(join(home, 'made/below/postern.db'))
    await database.close()
    assert.equal(mode(join(home, 'made/below')), '700')
    assert.equal(mode(join(home, 'made')), '700')
  })

  test('doctor and the start report existing files that others can read', async () => {
    const data = folder('old')
    const file = join(data, 'postern.db')
    const env = { DATABASE_URL: `sqlite:${file}` }
    const database = openSqlite(file)
    await migrate(database)
    await database.close()
    chmodSync(file, 0o644)
    const { stdout } = await postern(home, ['doctor'], env)
    assert.match(stdout, /^! file permissions: other users .*old\/postern\.db \(0644\).*chmod 600/m)

    const warned: string[] = []
    const log = createLog('warn', { write: (line: string) => void warned.push(line) })
    const service = await startTestService(engine!, { databaseUrl: env.DATABASE_URL, parts: { log } })
    await service.close()
    assert.match(warned.join(''), /chmod 600/)

    chmodSync(data, 0o700)
    assert.deepEqual([...checkModes(env.DATABASE_URL)], [], 'nobody gets there')
    chmodSync(data, 0o755)
    chmodSync(file, 0o600)
    assert.deepEqual([...checkModes(env.DATABASE_URL)], [])
  })
})
