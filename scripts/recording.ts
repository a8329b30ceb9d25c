// `npm run recording`: records the first minute with Postern in a fresh clone of this checkout, and draws it: docs/recordings/.
// With `--draw` it draws anew what was recorded.
// The clone has what is committed. Its port is one that is free; the recording shows the usual one.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOptions } from '../test/harness/script-options.ts'
import { draw } from './recording/draw.ts'
import { Terminal } from './recording/record.ts'
import type { Recording, Step } from './recording/recording.ts'

const { values } = readOptions(import.meta.filename, { options: { draw: { type: 'boolean' } } })
const root = join(import.meta.dirname, '..')
const target = join(root, 'docs/recordings')
const columns = 100
const rows = 24

/** What the reader does after the start, in a second terminal. */
const commands = [
  `npm run -s postern -- send http://127.0.0.1:3000/webhooks/provider --type order.paid --data '{"order":"42"}'`,
  `curl 'http://127.0.0.1:3000/events?order=desc&limit=1'`,
  `curl -X POST http://127.0.0.1:3000/webhooks/provider -d '{}' -H 'content-type: application/json'`,
  `curl 'http://127.0.0.1:3000/products?category=kitchen&sort=-price&limit=1'`,
]

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}

async function record(): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-recording-'))
  const home = join(folder, 'postern')
  const port = await freePort()
  const mine = `http://127.0.0.1:${port}`
  const shown = 'http://127.0.0.1:3000'
  const edit = (text: string): string =>
    text
      .replaceAll(mine, shown)
      .replaceAll(`PORT=${port}`, 'PORT=3000')
      .replaceAll(folder, '~')
      .replaceAll(/\b(pk|demo)_[\w-]{20,}/g, '$1_…')
  execFileSync('git', ['clone', '--quiet', root, home])
  const { PATH = '', HOME = '' } = process.env
  // Packages that npm has in its cache are not loaded again. Its warnings are about the machine's own settings. curl draws its progress only where there is no terminal.
  const npm = { npm_config_loglevel: 'error', npm_config_prefer_offline: 'true' }
  const env = { PATH, HOME, TERM: 'xterm', TZ: 'UTC', PORT: String(port), ...npm }
  const terminal = new Terminal(home, env, columns, edit)
  const { step, child } = await terminal.run('npm start', 'npm start', /ADMIN_API_KEY=pk_/)
  try {
    const steps: Step[] = []
    for (const command of commands) {
      steps.push((await terminal.run(command, command.replaceAll(shown, mine))).step)
      await processed(mine)
    }
    return {
      title: 'The first minute with Postern: start it, send it a webhook, list what came',
      columns,
      rows,
      scenes: [
        { title: 'a fresh clone', steps: [step] },
        { title: 'a second terminal', steps },
      ],
    }
  } finally {
    process.kill(-child.pid!, 'SIGINT')
    await new Promise((done) => child.once('close', done))
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Until no event is being worked on: a reader types more slowly than the service works. */
async function processed(address: string): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end;) {
    const answer = await fetch(`${address}/events?order=desc&limit=1`)
    const { data } = (await answer.json()) as { data: { status: string }[] }
    if (data[0]?.status !== 'pending') return
    await new Promise((done) => setTimeout(done, 50))
  }
}

const data = join(target, 'first-minute.json')
mkdirSync(target, { recursive: true })
if (!values.draw || !existsSync(data)) writeFileSync(data, `${JSON.stringify(await record(), null, 1)}\n`)
const picture = draw(JSON.parse(readFileSync(data, 'utf8')) as Recording)
writeFileSync(join(target, 'first-minute.svg'), picture)
console.log(`first-minute.svg: ${picture.length} bytes`)
