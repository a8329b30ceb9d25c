// examples/python-resource-server, with tokens of a real service. Needs Python with PyJWT and cryptography: `.ci/run` installs them below
// .cache/python.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Browser, each, engines, freePort, type OAuthProvider, startOAuthProvider } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { childEnvironment } from '../harness/child-environment.ts'
import { callback, tokensOf } from '../oauth2/harness.ts'
import { startProgram, type Program } from '../harness/program.ts'

const root = join(import.meta.dirname, '../..')
const audience = 'https://api.example.com'
const own = ['orders:read', 'orders:write']
const scopes = ['openid', 'profile', ...own]
const redirectUris = [callback]
const clients = [
  { id: 'shop', redirectUris, audience, scopes },
  { id: 'other', redirectUris, audience: 'https://other.example.com', scopes },
]
const needed = 'import jwt, cryptography; from jwt.exceptions import PyJWKClientConnectionError'
const python = [join(root, '.cache/python/bin/python'), 'python3'].find(
  (program) => spawnSync(program, ['-c', needed]).status === 0,
)
const skip = python === undefined && 'PyJWT 2.8 and cryptography are not installed'

describe('examples/python-resource-server', { skip }, () => {
  let provider: OAuthProvider
  let service: TestService
  let server: Program
  let address: string
  before(async () => {
    provider = await startOAuthProvider()
    service = await startTestService(engines[0]!, {
      env: provider.env('ACME'),
      config: { login: { clients } },
    })
    const port = String(await freePort())
    address = `http://127.0.0.1:${port}/orders`
    server = startProgram([python!, 'server.py'], {
      cwd: join(root, 'examples/python-resource-server'),
      env: {
        ...childEnvironment(),
        PYTHONDONTWRITEBYTECODE: '1',
        POSTERN_URL: service.baseUrl,
        PORT: port,
      },
    })
    await server.shows(/The API listens/)
  })
  after(async () => {
    await server?.stop()
    await service.close()
    await provider.close()
  })

  async function newTokens(clientId: string, scope: string): Promise<{ access: string; id: string }> {
    const body = await tokensOf(service, new Browser(), { client_id: clientId, scope })
    return { access: String(body['access_token']), id: String(body['id_token']) }
  }

  const ask = (token?: string, body?: string): Promise<Response> =>
    fetch(address, {
      ...(body !== undefined && { method: 'POST', body }),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    })

  test('lists and takes the orders of the person of the token', async () => {
    const { access } = await newTokens('shop', own.join(' '))
    assert.equal((await ask(access, '{"item":"tea"}')).status, 201)
    const answer = await ask(access)
    assert.equal(answer.status, 200)
    const { data } = (await answer.json()) as { data: { item: string }[] }
    assert.deepEqual(each(data, 'item'), ['tea'])
    assert.equal((await ask(access, 'tea')).status, 400)
  })

  test('refuses a token without the scope', async () => {
    const { access } = await newTokens('shop', 'orders:read')
    assert.equal((await ask(access)).status, 200)
    const { status, headers } = await ask(access, '{"item":"tea"}')
    assert.equal(status, 403)
    assert.equal(headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
  })

  test('refuses tokens for another API, id_tokens, changed tokens, and requests without one', async () => {
    const { access, id } = await newTokens('shop', `openid ${own.join(' ')}`)
    const other = await newTokens('other', own.join(' '))
    for (const token of [other.access, id, `${access.slice(0, -4)}AAAA`, 'x']) {
      const { status, headers } = await ask(token)
      assert.equal(status, 401, token)
      assert.equal(headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    }
    assert.equal((await ask()).headers.get('www-authenticate'), 'Bearer')
  })
})
