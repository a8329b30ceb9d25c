import assert from 'node:assert/strict'
import { exec, execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
/** One that starts quickly; all read their options by the same function, as the last test asserts. */
const script = join(root, 'test/chaos/run.ts')
/** Prints at the end which module a process has run. */
const tellMain = "process.on('exit', () => process.stdout.write(String(process.argv[1])))"
const run = (option: string) => promisify(execFile)(process.execPath, [script, option], { cwd: root })

test("--help prints a script's comment and its options, and runs nothing", async () => {
  const { stdout } = await run('--help')
  assert.match(stdout, /^`npm run chaos`: .*\n(.+\n)+\nOptions:\n( {2}--.*\n)+ {2}--help\n$/)
  assert.match(stdout, /^ {2}--seed VALUE +default 1$/m)
})

test('an option that a script does not have is refused in one line', async () => {
  await assert.rejects(run('--no-such'), { code: 1, stderr: "Unknown option '--no-such'\nSee --help.\n" })
})

test('all scripts that npm starts read their options by the same function', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const scripts = Object.values(manifest.scripts).flatMap((line) => / --script (\S+)$/.exec(line)?.[1] ?? [])
  assert.ok(scripts.includes('test/chaos/run.ts'))
  const others = scripts.filter(
    (file) => !readFileSync(join(root, file), 'utf8').includes('readOptions(import.meta.filename, '),
  )
  // The image is built without test/, and the first of them has no options; `init` runs the second on the machine's own Node.js.
  assert.deepEqual(new Set(others), new Set(['scripts/build.ts', 'scripts/vendor.mjs']))
})

test('`npx postern` in a checkout runs its sources', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['bin/postern.mjs', 'help', 'serve'], {
    cwd: root,
    // A checkout that was packed has a bundle, which would be older than the sources.
    env: { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellMain)}` },
  })
  assert.match(stdout, /^Usage: postern serve/)
  assert.match(stdout, /src\/main\.ts/)
})

test('Node.js leaves --env-file to the command: a file that is missing is an error of Postern', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const running = promisify(exec)(`${scripts['postern']} --env-file nofile doctor`, { cwd: root })
  await assert.rejects(running, ({ code, stderr }: { code: number; stderr: string }) => {
    assert.match(stderr, /nofile/)
    assert.match(stderr, /^nofile cannot be read: it does not exist$/m)
    return code === 1
  })
})
