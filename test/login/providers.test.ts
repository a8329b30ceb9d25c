import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Browser, engines, startTestService, type TestService } from '#test/harness/index.ts'
import {
  client,
  startShapedProvider,
  type Request,
  type ShapedProvider,
} from '#test/harness/shaped-provider.ts'
import { presets } from '../../src/login/providers/presets.ts'
import { assertFails } from './harness.ts'
import { providerCases } from './provider-shapes.ts'
import { finish, identityOf, toAnswer } from './shaped-sign-in.ts'

const appleKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** Apple's own check of the client secret. */
function hasAppleSecret({ form }: Request): boolean {
  const [head = '', payload = '', signature = ''] = (form.get('client_secret') ?? '').split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
  const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as Record<string, unknown>
  assert.deepEqual(header, { alg: 'ES256', kid: 'ABC123DEFG' })
  const { iat, exp, ...rest } = claims as { iat: number; exp: number }
  assert.deepEqual(rest, { iss: 'DEF123GHIJ', sub: client.id, aud: 'https://appleid.apple.com' })
  assert.ok(exp > iat && exp - iat <= 15_777_000)
  const key = { key: appleKey.publicKey, dsaEncoding: 'ieee-p1363' } as const
  const signed = verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url'))
  return signed && form.get('client_id') === client.id
}

// What is tried is the way to the providers; the database has no part in it, so one engine is enough.
describe('each preset against a server that answers as its provider does', () => {
  const providers = new Map<string, ShapedProvider>()
  let service: TestService
  before(async () => {
    const env: Record<string, string> = {
      APPLE_TEAM_ID: 'DEF123GHIJ',
      APPLE_KEY_ID: 'ABC123DEFG',
      APPLE_PRIVATE_KEY: appleKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).replaceAll('\n', '\\n'),
    }
    for (const [name, { shape, env: more }] of Object.entries(providerCases)) {
      const accepts = name === 'apple' ? { accepts: hasAppleSecret } : {}
      const provider = await startShapedProvider({ ...shape, ...accepts })
      providers.set(name, provider)
      const prefix = name.toUpperCase()
      env[`${prefix}_CLIENT_ID`] = client.id
      if (name !== 'apple') env[`${prefix}_CLIENT_SECRET`] = client.secret
      Object.assign(env, more(provider.url, prefix))
    }
    service = await startTestService(engines[0]!, { env })
  })
  after(async () => {
    await service.close()
    for (const provider of providers.values()) await provider.close()
  })

  test('there is a case for every preset', () => {
    assert.deepEqual(Object.keys(providerCases).toSorted(), Object.keys(presets).toSorted())
    assert.ok(Object.keys(presets).length >= 21)
  })

  for (const [name, { expected, asks }] of Object.entries(providerCases)) {
    test(`${name}: a complete sign-in`, async () => {
      const browser = new Browser()
      const start = await browser.go(new URL(`/auth/${name}`, service.baseUrl))
      assert.equal(start.status, 303)
      const asked = new URL(start.headers.get('location')!).searchParams
      for (const [parameter, value] of Object.entries(asks)) assert.equal(asked.get(parameter), value)
      assert.equal(asked.get('redirect_uri'), `${service.baseUrl}/auth/${name}/callback`)
      assert.equal(asked.get('response_type'), 'code')
      assert.equal(asked.has('code_challenge'), presets[name]!.pkce !== false)
      assert.equal(asked.getAll('state').length, 1)
      const target = await finish(service, browser, await toAnswer(start.headers.get('location')!))
      assert.equal(target, '/dashboard')
      assert.deepEqual(await identityOf(service, name), expected)
    })

    test(`${name}: a refused code is a clear failure, without text of the provider`, async () => {
      const provider = providers.get(name)!
      const { shape } = provider
      provider.shape = { ...shape, accepts: () => false }
      try {
        const browser = new Browser()
        const start = await browser.go(new URL(`/auth/${name}`, service.baseUrl))
        const callback = await toAnswer(start.headers.get('location')!)
        await assertFails(service, browser, callback, 'provider-refused')
      } finally {
        provider.shape = shape
      }
    })
  }
})
