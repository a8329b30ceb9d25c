import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { mainFile } from '../harness/main-file.ts'

/** Prints the address of each module that is loaded. */
const printLoaded = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({ load: (url, context, next) => (console.error('loads', url), next(url, context)) })
`)}`

test('a command loads the driver of PostgreSQL only when it uses it', async () => {
  const loaded = async (databaseUrl: string): Promise<string> => {
    const env = { ...childEnvironment(), DATABASE_URL: databaseUrl, POSTERN_SECRET: 'x'.repeat(40) }
    const args = ['--import', printLoaded, mainFile, 'upgrade', '--check']
    const running = promisify(execFile)(process.execPath, args, { env, cwd: tmpdir() })
    const { stderr } = await running.catch((error: { stderr: string }) => error)
    assert.match(stderr, /^loads .*main/m)
    return stderr
  }
  const driver = /^loads .*\/node_modules\/pg\//m
  // Neither database is there: the command fails when it opens it.
  assert.match(await loaded('postgres://nobody@127.0.0.1:1/none'), driver)
  assert.doesNotMatch(await loaded(`sqlite:${join(tmpdir(), 'postern-not-there.db')}`), driver)
})
