// The programs in Python and Go that pages show run, where their packages are installed: .ci/run puts those of Python into .cache/frameworks,
// and those of Go into Go's own cache; their versions are in documented/languages. Elsewhere they are only parsed (documented-blocks.test.ts).
import assert from 'node:assert/strict'
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { blocksOf, root } from './documented/blocks.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const folder = temporaryFolder()

/** What the programs read. */
const settings = {
  POSTERN_URL: 'http://127.0.0.1:3000',
  AUDIENCE: 'https://api.example.com',
  SESSION_SECRET: 'secret',
  WEB_SECRET: 'secret',
}
const run = (
  cwd: string,
  env: Record<string, string>,
  ...[program, ...args]: string[]
): SpawnSyncReturns<string> =>
  spawnSync(program!, args, { cwd, encoding: 'utf8', env: { ...process.env, ...settings, ...env } })

function passes(...about: Parameters<typeof run>): void {
  const { status, stdout, stderr } = run(...about)
  assert.equal(status, 0, stdout + stderr)
}

/** Writes programs of a page, by their numbers on it, into a folder of their own. */
function write(
  name: string,
  page: string,
  language: string,
  files: Readonly<Record<string, number>>,
): string {
  const own = join(folder, name)
  mkdirSync(own)
  const blocks = blocksOf(page).filter((block) => block.language === language)
  for (const [file, number] of Object.entries(files))
    writeFileSync(join(own, file), `${blocks[number]!.text}\n`)
  return own
}

const python = join(root, '.cache/frameworks/bin/python')
const needed = 'import authlib, fastapi, flask, httpx, itsdangerous, jwt, pytest, standardwebhooks'
const noPython =
  run(root, {}, python, '-c', needed).status !== 0 && 'the packages of Python are not installed'

describe('the programs in Python', { skip: noPython }, () => {
  const page = 'docs/guides/frameworks/python.md'
  for (const [name, api] of [
    ['fastapi', 1],
    ['flask', 2],
  ] as const)
    test(`the API with ${name} starts, and its test passes`, () => {
      const own = write(name, page, 'python', {
        'access_tokens.py': 0,
        'api.py': api,
        'test_access_tokens.py': 4,
      })
      passes(own, {}, python, '-c', 'import api; assert api.app')
      passes(own, {}, python, '-m', 'pytest', '-q')
    })

  test('the pages with Authlib start', () => {
    const own = write('web', page, 'python', { 'web.py': 3 })
    passes(own, {}, python, '-W', 'ignore', '-c', 'import web; assert web.app')
  })

  test('the receiver of forwarded events accepts what is signed, and nothing else', () => {
    const block = blocksOf('docs/guides/receiving/forwarding.md').find(
      ({ language }) => language === 'python',
    )
    const given = [
      'import datetime, sys, types',
      'from standardwebhooks.webhooks import Webhook',
      'FORWARD_SECRET = "whsec_" + "c2VjcmV0" * 4',
      'now = datetime.datetime.now(tz=datetime.timezone.utc)',
      'signature = Webhook(FORWARD_SECRET).sign("msg_1", now, sys.argv[1])',
      'headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}',
      'request = types.SimpleNamespace(headers=headers, get_data=lambda: b\'{"a":1}\')',
    ].join('\n')
    const program = `${given}\n${block!.text}\nassert event == {"a": 1} and seen == "msg_1"\n`
    passes(folder, {}, python, '-c', program, '{"a":1}')
    assert.match(run(folder, {}, python, '-c', program, '{"a":2}').stderr, /WebhookVerificationError/)
  })
})

const modules = join(root, 'test/repository/documented/languages/go.mod')
const go = {
  PATH: `${process.env['PATH']}:/usr/local/go/bin`,
  GOFLAGS: '-mod=mod',
  GOPROXY: 'off',
  GOSUMDB: 'off',
}

function noGo(): string | false {
  const own = join(folder, 'modules')
  mkdirSync(own)
  copyFileSync(modules, join(own, 'go.mod'))
  return run(own, go, 'go', 'mod', 'download').status !== 0 && 'Go or its modules are not installed'
}

describe('the programs in Go', { skip: noGo() }, () => {
  const page = 'docs/guides/frameworks/go.md'
  for (const [name, files] of [
    ['pages', { 'main.go': 0, 'finish.go': 1 }],
    ['api', { 'main.go': 2, 'main_test.go': 3 }],
  ] as const)
    test(`${name}: compile, and the test passes`, () => {
      const own = write(name, page, 'go', files)
      copyFileSync(modules, join(own, 'go.mod'))
      passes(own, go, 'go', 'vet', '.')
      passes(own, go, 'go', 'test', '.')
    })
})
