// examples/client/cli as a process of its own, at a model of the device grant.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'

const root = join(import.meta.dirname, '../..')
const user = { id: 'u1', email: 'ada@example.com', name: 'Ada', role: 'user' }

describe('examples/client/cli', () => {
  let server: Server
  let polls = 0
  let outcome: 'access_token' | 'access_denied'

  before(async () => {
    server = createServer((request, response) => {
      const answer = (status: number, body: object): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
      const base = `http://${request.headers.host}`
      if (request.url === '/oauth2/device_authorization')
        answer(200, {
          device_code: 'd',
          user_code: 'BCDF-GHJK',
          verification_uri: `${base}/device`,
          expires_in: 60,
          interval: 0.05,
        })
      else if (request.url === '/oauth2/token' && polls++ < 2) answer(400, { error: 'authorization_pending' })
      else if (request.url === '/oauth2/token' && outcome === 'access_denied') answer(400, { error: outcome })
      else if (request.url === '/oauth2/token') answer(200, { access_token: 'a', expires_in: 900 })
      else if (request.url === '/auth/session' && request.headers.authorization === 'Bearer a')
        answer(200, { user, session: { id: 's', kind: 'token' } })
      else answer(404, {})
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  })
  after(() => server.close())

  async function run(): Promise<{ code: number | null; output: string }> {
    polls = 0
    const example = spawn(
      process.execPath,
      ['--import', './test/client/use-source.ts', 'examples/client/cli/sign-in.ts'],
      {
        cwd: root,
        env: {
          ...childEnvironment(),
          POSTERN_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        },
      },
    )
    let output = ''
    for (const stream of [example.stdout, example.stderr])
      stream.on('data', (chunk) => (output += String(chunk)))
    const code = await new Promise<number | null>((done) => example.once('close', done))
    return { code, output }
  }

  test('shows the code, waits, and knows the person', async () => {
    outcome = 'access_token'
    const { code, output } = await run()
    assert.equal(code, 0, output)
    assert.match(output, /^Open http:\S+\/device and enter BCDF-GHJK\nSigned in as Ada\n$/)
    assert.equal(polls, 3)
  })

  test('ends when the person refuses', async () => {
    outcome = 'access_denied'
    const { code, output } = await run()
    assert.equal(code, 1)
    assert.match(output, /access_denied/)
  })
})
