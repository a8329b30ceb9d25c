// The set-up of docs/guides/frameworks.md on the reader's machine: its Caddyfile before Postern in demo mode, and before the Express server of
// docs/guides/frameworks/express.md. Needs the binary `caddy`.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { Browser, freePort, temporaryFolder } from '../harness/index.ts'
import { mainFile } from '../harness/main-file.ts'
import { reaches } from '../harness/reaches.ts'
import { blocksOf, root } from '../repository/documented/blocks.ts'
import { eventually } from '../receiving/harness.ts'
import { startProgram, type Program } from '../harness/program.ts'
import { programEnvironment } from './shop/programs.ts'

const installed = spawnSync('caddy', ['version']).status === 0
const caddyfile = blocksOf('docs/guides/frameworks.md').find(({ language }) => language === 'caddyfile')!.text
const server = blocksOf('docs/guides/frameworks/express.md').find(({ text }) =>
  text.includes('.listen('),
)!.text

describe(
  'Postern and an application at one origin',
  { skip: installed ? false : 'caddy is not installed' },
  () => {
    const home = temporaryFolder()
    const programs: Program[] = []
    let origin: string
    before(async () => {
      const free = await Promise.all([freePort(), freePort(), freePort()])
      const [port, own, application] = free.map(String) as [string, string, string]
      origin = `http://127.0.0.1:${port}`
      const adapted = caddyfile
        .replace('auto_https off', 'auto_https off\nadmin off')
        .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
        .replace('127.0.0.1:3000', `127.0.0.1:${own}`)
        .replace('127.0.0.1:4000', `127.0.0.1:${application}`)
      writeFileSync(join(home, 'Caddyfile'), adapted)
      const env = { ...programEnvironment(home), XDG_DATA_HOME: home, XDG_CONFIG_HOME: home }
      const posternEnv = { ...env, BASE_URL: `${origin}/gate`, PORT: own }
      const postern = startProgram([process.execPath, mainFile, 'serve'], { cwd: home, env: posternEnv })
      const source = `--import=${join(root, 'test/client/use-source.ts')}`
      const app = startProgram(
        [process.execPath, source, '--input-type=module-typescript', '--eval', server],
        {
          cwd: root,
          env: {
            ...childEnvironment(),
            POSTERN_URL: `http://127.0.0.1:${own}/gate`,
            ISSUER: `${origin}/gate`,
            PORT: application,
          },
        },
      )
      programs.push(postern, app, startProgram(['caddy', 'run'], { cwd: home, env }))
      await postern.shows(/"msg":"ready"/)
      const answers = async (path: string): Promise<number | undefined> =>
        (await fetch(origin + path).catch(() => undefined))?.status
      await eventually(async () => (await answers('/gate/readyz')) === 200, 'Postern is ready')
      await eventually(async () => (await answers('/api/orders')) === 401, 'the application answers')
    })
    after(async () => {
      await Promise.all(programs.map((program) => program.stop()))
    })

    test('it answers on this machine only: demo mode behind it takes each caller for one of this machine', async () => {
      const port = Number(new URL(origin).port)
      assert.equal(await reaches('127.0.0.1', port), true)
      assert.equal(await reaches('127.0.0.2', port), false)
    })

    test('a page leads to the sign-in of demo mode and back, and the sign-out counts at once', async () => {
      const browser = new Browser()
      const login = await browser.follow(`${origin}/account`)
      assert.equal(login.url.href, `${origin}/gate/login?return_to=%2Faccount`)
      assert.match(await login.response.text(), /development provider/)
      const choice = await browser.follow(`${origin}/gate/auth/demo?return_to=/account`)
      const chosen = await browser.go(choice.url, {
        method: 'POST',
        body: new URLSearchParams({ person: 'ada' }),
      })
      const end = await browser.follow(new URL(chosen.headers.get('location')!, choice.url))
      assert.equal(end.url.href, `${origin}/account`)
      assert.deepEqual(await end.response.json(), { name: 'Ada Lovelace' })
      assert.equal((await browser.go(`${origin}/api/reports`)).status, 200)

      // As a form does.
      const headers = { origin, accept: 'text/html' }
      const out = await browser.go(`${origin}/gate/auth/logout`, { method: 'POST', headers })
      assert.equal(out.status, 303)
      assert.equal(new URL(out.headers.get('location')!, origin).pathname, '/gate/login')
      assert.equal((await browser.go(`${origin}/api/orders`)).status, 401)
    })
  },
)
