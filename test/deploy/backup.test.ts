// deploy/compose/backup.mjs, with the command that it finds in the image.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { onSqlite, sqlite, temporaryFolder } from '../harness/index.ts'
import { mainFile } from '../harness/main-file.ts'
import { eventually } from '../receiving/harness.ts'

const script = join(import.meta.dirname, '../../deploy/compose/backup.mjs')

test('scheduled backups replace the oldest ones, and stop at SIGTERM', onSqlite, async () => {
  await using database = await sqlite!.createMigratedDatabase()
  const folder = temporaryFolder()
  const env = childEnvironment()
  writeFileSync(join(folder, 'postern'), `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`, {
    mode: 0o755,
  })
  const child = spawn(process.execPath, [script, folder, '0.00001', '2'], {
    env: { ...env, PATH: `${folder}:${env['PATH']}`, DATABASE_URL: database.url },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const backups = (): string[] => readdirSync(folder).filter((name) => name.startsWith('postern-'))
  const first = await eventually(() => backups()[0], 'a first backup')
  await eventually(() => backups().length === 2 && !backups().includes(first), 'the first one is replaced')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})
