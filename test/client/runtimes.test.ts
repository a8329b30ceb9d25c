// The library without anything of Node: in a context that has only the language and the globals of the web.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Webhook } from 'standardwebhooks'
import type * as Client from '../../packages/client/src/index.ts'
import { bundleClient } from './bundle.ts'

const url = 'https://gate.example.com'
const cookie = `__Host-postern_session=${'a'.repeat(43)}`

describe('without process, Buffer and modules of Node', () => {
  let client: typeof Client
  const answers = new Map<string, unknown>()
  const fetch = async (address: string): Promise<Response> => {
    const { pathname, search } = new URL(address)
    return Response.json(answers.get(pathname + search))
  }

  before(async () => {
    const { crypto, setTimeout, clearTimeout, atob, btoa, console } = globalThis
    const web = {
      URL,
      URLSearchParams,
      Headers,
      Request,
      Response,
      AbortController,
      TextEncoder,
      TextDecoder,
    }
    const context = createContext({ ...web, crypto, setTimeout, clearTimeout, atob, btoa, console })
    const code = await bundleClient('index.ts', 'iife', false)
    client = runInContext(`${code};client`, context) as typeof Client
    assert.equal(
      runInContext('typeof process + typeof Buffer + typeof require', context),
      'undefined'.repeat(3),
    )
  })

  test('a session is read', async () => {
    const session = {
      user: { id: 'u1', email: null, name: null, role: 'user' },
      session: { id: 's', kind: 'session' },
    }
    answers.set('/auth/session', session)
    const { getSession, requireUser } = client.createPostern({ url, fetch })
    assert.equal((await getSession(new Request(url, { headers: { cookie } })))?.user.id, 'u1')
    await assert.rejects(requireUser(new Request(url)), { name: 'NotSignedInError', status: 401 })
  })

  for (const alg of ['ES256', 'RS256', 'EdDSA'])
    test(`a token signed with ${alg} is verified by Web Crypto`, async () => {
      const { privateKey, publicKey } = await generateKeyPair(alg)
      answers.set('/.well-known/jwks.json', {
        keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg, use: 'sig' }],
      })
      const sign = (sub: string): Promise<string> =>
        new SignJWT({ client_id: 'spa', jti: 'j' })
          .setProtectedHeader({ alg, kid: 'k', typ: 'at+jwt' })
          .setIssuer(url)
          .setAudience(url)
          .setSubject(sub)
          .setIssuedAt()
          .setExpirationTime('1h')
          .sign(privateKey)
      const { verify } = client.createPostern({ url, fetch })
      const token = await sign('u1')
      assert.equal((await verify(token)).sub, 'u1')
      const [head, , signature] = token.split('.')
      const [, payload] = (await sign('admin')).split('.')
      await assert.rejects(verify(`${head}.${payload}.${signature}`), { code: 'invalid-token' })
    })

  test('a list is read, and a webhook is verified', async () => {
    answers.set('/users', { data: [{ id: '1' }], pagination: { page: 1, hasNext: true } })
    answers.set('/users?page=2', { data: [{ id: '2' }], pagination: { page: 2, hasNext: false } })
    const ids: string[] = []
    for await (const { id } of client.createPostern({ url, fetch }).list('/users')) ids.push(id)
    assert.deepEqual(ids, ['1', '2'])
    const secret = `whsec_${btoa('0123456789abcdef')}`
    const body = '{"id":"e1","type":"t","timestamp":"","data":null}'
    const at = new Date()
    const headers = new Headers({
      'webhook-id': 'e1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('e1', at, body),
    })
    assert.equal((await client.verifyWebhook(body, headers, secret)).id, 'e1')
    await assert.rejects(client.verifyWebhook(`${body} `, headers, secret), { code: 'invalid-signature' })
  })
})
