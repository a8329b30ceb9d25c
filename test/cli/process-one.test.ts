// In a container the service is process 1, to which the kernel delivers only the signals that it listens for.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { mainFile } from '../harness/main-file.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const namespace = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child']
const isPossible = spawnSync('unshare', [...namespace, 'true']).status === 0

/** A configuration that never ends to load, so that the start takes as long as the test. */
const endless = `process.stderr.write('loading\\n'); await new Promise((done) => setTimeout(done, 600_000)); export default {}`

test(
  'a stop during the start ends process 1 at once',
  { skip: !isPossible && 'PID namespaces are not available' },
  async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'postern.config.ts'), endless)
    const outer = spawn('unshare', [...namespace, process.execPath, mainFile, 'serve'], {
      cwd: folder,
      env: { ...childEnvironment(), HOME: folder, PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    try {
      // It listens for signals by then, and not yet when it writes a warning of Node.js.
      for await (const part of outer.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false }))
        if (String(part).includes('loading')) break
      const inner = Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim())
      process.kill(inner, 'SIGTERM')
      const [code] = (await once(outer, 'exit')) as [number | null]
      assert.equal(code, 143)
    } finally {
      outer.kill('SIGKILL')
    }
  },
)
