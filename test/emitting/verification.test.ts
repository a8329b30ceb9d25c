// Runs the receivers that GET /subscribers/{id}/verification shows, in each language whose tools this machine has.
import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { engines, freePort, scoped, started, startReceiver as startSubscriber } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { emit, expectJson, settled, startEmitting, subscribe, until } from './harness.ts'

type Language = AnswerTo<'GET /subscribers/{id}/verification'>['languages'][number]

/** How the file is run, and what must be there. Go and Java are compiled at each start. */
const commands: Readonly<
  Record<string, { tool: string; version: string; run: (file: string, port: number) => string[] }>
> = {
  typescript: {
    tool: process.execPath,
    version: '--version',
    run: (file) => [process.execPath, '--experimental-strip-types', '--no-warnings', file],
  },
  python: { tool: 'python3', version: '--version', run: (file) => ['python3', file] },
  go: { tool: 'go', version: 'version', run: (file) => ['go', 'run', file] },
  ruby: { tool: 'ruby', version: '--version', run: (file) => ['ruby', file] },
  php: { tool: 'php', version: '--version', run: (file, port) => ['php', '-S', `127.0.0.1:${port}`, file] },
  java: { tool: 'java', version: '--version', run: (file) => ['java', file] },
  csharp: { tool: 'dotnet', version: '--version', run: () => ['dotnet', 'run'] },
  rust: { tool: 'cargo', version: '--version', run: () => ['cargo', 'run', '--quiet'] },
}
const path = `${process.env['PATH']}:/usr/local/go/bin`
/** Names of crates and packages are downloaded, so these run only when asked for. */
const downloads = new Set(['rust', 'csharp'])

const sign = (secret: string, id: string, timestamp: number, body: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64')}`

const engine = engines[0]!
let folder: string
const running: ChildProcess[] = []

const service = started(() => startEmitting(engine, { env: { EMIT_RETRY_SCHEDULE: '0,0.2,0.2,0.2,0.2' } }))
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-receivers-'))
})
after(async () => {
  for (const child of running) if (child.pid !== undefined) stop(child.pid)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})

/** Ends the process with those that it started: `go run` starts the program that it compiled. */
function stop(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function missing(id: string): string | false {
  const { tool, version } = commands[id]!
  if (downloads.has(id) && process.env['TEST_DOWNLOADS'] !== '1')
    return `${tool} would download packages: set TEST_DOWNLOADS=1`
  const { error } = spawnSync(tool, [version], { env: { ...process.env, PATH: path } })
  return error ? `${tool} is not installed` : false
}

async function languagesFor(id: string): Promise<Language[]> {
  const answer = await expectJson<{ languages: Language[] }>(service, 200, `/subscribers/${id}/verification`)
  return answer.languages
}

function save(language: Language): string {
  const file = join(folder, language.id, language.file)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, language.code)
  if (language.id === 'rust') {
    const manifest = `[package]\nname = "receive"\nversion = "0.1.0"\nedition = "2021"\n
[dependencies]\nbase64 = "0.22"\nhmac = "0.12"\nsha2 = "0.10"\ntiny_http = "0.12"\n`
    writeFileSync(join(folder, 'rust/Cargo.toml'), manifest)
  }
  return file
}

async function startReceiver(language: Language, port: number, secret: string): Promise<void> {
  const file = save(language)
  const [command = '', ...args] = commands[language.id]!.run(file, port)
  const child = spawn(command, args, {
    cwd: join(folder, language.id),
    detached: true,
    env: { ...process.env, PATH: path, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  running.push(child)
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await until(
    async () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${language.id} ended: ${said}`)
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' }).catch(() => undefined)
      return response !== undefined
    },
    `${language.id} listens`,
    100_000,
  )
}

for (const id of Object.keys(commands))
  test(
    `the receiver in ${id} accepts what the service signs, and nothing else`,
    { skip: missing(id) },
    async () => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}/hooks/postern?tenant=a'b`
      const type = `only.${id}`
      const { id: subscriber, secret } = await subscribe(service, { url, eventTypes: [type] })
      const language = (await languagesFor(subscriber)).find((one) => one.id === id)!
      await startReceiver(language, port, secret)

      const emitted = await emit(service, { type, data: { text: 'é "ü" \n' } })
      assert.equal((await settled(service, subscriber, 'delivered')).eventId, emitted.eventId)
      // Both secrets sign while they overlap; the receiver still has the old one.
      await expectJson(service, 200, `/subscribers/${subscriber}/rotate-secret`, { method: 'POST', json: {} })
      const second = await emit(service, { type, data: 2 })
      assert.equal((await settled(service, subscriber, 'delivered')).eventId, second.eventId)

      const now = Math.floor(Date.now() / 1000)
      const body = '{"id":"msg_1","type":"a","timestamp":"2026-01-01T00:00:00Z","data":1}'
      const post = async (changes: Record<string, string | undefined>, content = body): Promise<number> => {
        const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(now), ...changes }
        const given = Object.entries(headers).filter((one): one is [string, string] => one[1] !== undefined)
        return (await fetch(url, { method: 'POST', body: content, headers: given })).status
      }
      const good = sign(secret, 'msg_1', now, body)
      const other = sign(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, 'msg_1', now, body)
      assert.equal(await post({ 'webhook-signature': good }), 204)
      assert.equal(await post({ 'webhook-signature': `v1a,AAAA ${other} ${good}` }), 204, 'one of several')
      for (const [what, headers, content] of [
        ['another body', { 'webhook-signature': good }, `${body} `],
        ['another secret', { 'webhook-signature': other }, body],
        ['no signature', {}, body],
        ['an empty signature', { 'webhook-signature': 'v1,' }, body],
        ['another id', { 'webhook-signature': good, 'webhook-id': 'msg_2' }, body],
        ['no id', { 'webhook-signature': good, 'webhook-id': undefined }, body],
        ['another version', { 'webhook-signature': good.replace('v1,', 'v2,') }, body],
        ...[now - 400, now + 400].map((at): [string, Record<string, string>, string] => [
          `signed at ${at - now}`,
          { 'webhook-timestamp': String(at), 'webhook-signature': sign(secret, 'msg_1', at, body) },
          body,
        ]),
        [
          'a timestamp that is no number',
          { 'webhook-timestamp': `${now}x`, 'webhook-signature': good },
          body,
        ],
      ] as const)
        assert.equal(await post(headers, content), 401, what)
    },
  )

for (const id of ['typescript', 'python', 'ruby', 'php'])
  test(
    `the receiver in ${id} reads the headers of Svix and the data alone`,
    { skip: missing(id) },
    async () => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}/svix`
      const settings = { eventTypes: [`svix.${id}`], signatureHeaders: 'svix', body: 'data' }
      const { id: subscriber, secret } = await subscribe(service, { url, ...settings })
      const languages = await languagesFor(subscriber)
      for (const { code } of languages)
        assert.doesNotMatch(code, /webhook-(id|signature|timestamp)|HTTP_WEBHOOK/)
      await startReceiver(
        languages.find((one) => one.id === id)!,
        port,
        secret,
      )
      await emit(service, { type: `svix.${id}`, data: { n: 1 } })
      await settled(service, subscriber, 'delivered')
    },
  )

test('the script with curl and openssl sends and verifies', async () => {
  await using receiver = scoped(await startSubscriber())
  const { id, secret } = await subscribe(service, { url: receiver.url, eventTypes: ['only.curl'] })
  const language = (await languagesFor(id)).find((one) => one.id === 'curl')!
  const file = save(language)
  const env = { ...process.env, WEBHOOK_SECRET: secret }
  const run = async (...args: string[]): Promise<{ status: number | null; text: string }> => {
    const child = spawn('bash', [file, ...args], { env })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const status = await new Promise<number | null>((resolve) => child.on('close', resolve))
    return { status, text }
  }
  assert.deepEqual(await run('send'), { status: 0, text: 'HTTP 204\n' })
  await emit(service, { type: 'only.curl', data: 'é' })
  await settled(service, id, 'delivered')
  for (const { headers, body } of receiver.calls) {
    const saved = join(folder, 'body.json')
    writeFileSync(saved, body)
    const [eventId, timestamp, signature] = ['id', 'timestamp', 'signature'].map(
      (name) => headers[`webhook-${name}`] as string,
    ) as [string, string, string]
    const expected = sign(secret, eventId, Number(timestamp), body.toString())
    assert.equal(signature, expected)
    assert.deepEqual(await run('verify', saved, eventId, timestamp, `v1,x ${signature}`), {
      status: 0,
      text: 'verified\n',
    })
    assert.equal((await run('verify', saved, `${eventId}x`, timestamp, signature)).status, 1)
    assert.equal((await run('verify', saved, eventId, String(Number(timestamp) - 400), signature)).status, 1)
  }
  for (const incomplete of [[], ['verify'], ['verify', 'body.json']])
    assert.match((await run(...incomplete)).text, /^webhook\.sh: sends a signed request/)
})

test('an address with unusual characters cannot change the code', async () => {
  const url = `http://127.0.0.1:9/a'b$(id)\`id\`/%22?q='$x\\u000a;`
  const { id } = await subscribe(service, { url })
  for (const { id: name, code } of await languagesFor(id)) {
    assert.doesNotMatch(code, /\{\{/, name)
    assert.doesNotMatch(code, /a'b|\$\(id\)|`id`|\\u000a/, name)
    assert.match(code, /127\.0\.0\.1:9\/a%27b/, name)
  }
})
