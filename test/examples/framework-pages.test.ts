// The programs of docs/guides/frameworks that need no more than this checkout: the servers of Fastify and Express against a real service,
// and the tests that the pages show.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { Browser, engines, freePort, type OAuthProvider, startOAuthProvider } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { blocksOf, pages, root } from '../repository/documented/blocks.ts'
import { signIn } from '../login/harness.ts'
import { callback, tokensOf } from '../oauth2/harness.ts'
import { eventually } from '../receiving/harness.ts'
import { startProgram, type Program } from '../harness/program.ts'

/** A command that runs a block. It finds packages as a file of this checkout does. */
const commandOf = (code: string): [string, ...string[]] => {
  const source = `--import=${join(root, 'test/client/use-source.ts')}`
  return [process.execPath, source, '--input-type=module-typescript', '--eval', code]
}
const programs = pages
  .filter((page) => page.startsWith('docs/guides/frameworks/'))
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'ts')
const tests = programs.filter(({ text }) => text.includes("from 'node:assert/strict'"))

test('the pages of Next.js, Fastify and Express show a test', () => {
  assert.equal(tests.length, 3)
})
for (const { from, text } of tests)
  test(`${from} passes`, () => {
    const [program, ...args] = commandOf(text)
    const { status, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  })

for (const name of ['fastify', 'express'])
  describe(`the server of the page ${name}`, () => {
    let provider: OAuthProvider
    let service: TestService
    let server: Program
    let address: string
    let cookie: string
    before(async () => {
      const { text } = programs.find(
        (one) => one.page === `docs/guides/frameworks/${name}.md` && one.text.includes('.listen('),
      )!
      provider = await startOAuthProvider()
      const app = {
        id: 'shop',
        redirectUris: [callback],
        audience: 'https://api.example.com',
        scopes: ['openid', 'orders:read'],
      }
      service = await startTestService(engines[0]!, {
        env: provider.env('ACME'),
        config: { login: { clients: [app] } },
      })
      const port = String(await freePort())
      address = `http://127.0.0.1:${port}`
      const own = { POSTERN_URL: service.baseUrl, ISSUER: service.baseUrl, PORT: port }
      server = startProgram(commandOf(text), { cwd: root, env: { ...childEnvironment(), ...own } })
      const answers = async (): Promise<boolean> =>
        (await ask('/api/orders').catch(() => undefined))?.status === 401
      await eventually(answers, 'the server answers').catch((error: unknown) => {
        throw new Error(server.output(), { cause: error })
      })
      const browser = new Browser()
      await signIn(service, browser)
      cookie = `postern_session=${browser.cookies(service.baseUrl).get('postern_session')}`
    })
    after(async () => {
      await server?.stop()
      await service.close()
      await provider.close()
    })
    const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(address + path, { headers, redirect: 'manual' })

    test('a page leads to the sign-in, and knows who is signed in', async () => {
      const start = await ask('/account?page=2')
      assert.equal(start.status, 302)
      assert.equal(start.headers.get('location'), '/gate/login?return_to=%2Faccount%3Fpage%3D2')
      const { name: person } = (await (await ask('/account', { cookie })).json()) as { name: string }
      assert.match(person, /./)
    })

    test('calls need a session, or the role', async () => {
      assert.equal((await ask('/api/orders', { cookie })).status, 200)
      assert.equal((await ask('/api/reports', { cookie })).status, 403)
      assert.equal((await ask('/v1/orders', { cookie })).status, 401)
    })

    test('calls of other programs need a token with the scope', async () => {
      for (const [scope, status] of [
        ['openid orders:read', 200],
        ['openid', 403],
      ] as const) {
        const tokens = await tokensOf(service, new Browser(), { client_id: 'shop', scope })
        const authorization = `Bearer ${String(tokens['access_token'])}`
        assert.equal((await ask('/v1/orders', { authorization })).status, status, scope)
      }
    })
  })
