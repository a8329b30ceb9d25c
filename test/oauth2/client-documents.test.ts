// Apps whose id is the address of a document about them (OAuth Client ID Metadata Document).
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Browser, engines, onOneEngine, scoped, started, startOAuthProvider } from '#test/harness/index.ts'
import { startedService, startTestService } from '#test/harness/service.ts'
import { ClientDocuments, isDocumentId } from '../../src/oauth2/clients/client-documents.ts'
import type { Problem } from '../../src/errors.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { newPkce, signIn } from '../login/harness.ts'
import { startDocumentHost } from './document-host.ts'
import { allow, authorizeUrl, callback, token } from './harness.ts'

const api = 'https://mcp.example.com/mcp'
/** Another port than the document's: RFC 8252, section 7.3. */
const loopback = 'http://localhost:41234/callback'

onOneEngine('apps with metadata documents', (engine) => {
  let shift = 0
  const provider = started(startOAuthProvider)
  const host = started(startDocumentHost)
  const service = startedService(engine, () => ({
    env: {
      ...provider.env('ACME'),
      CLIENT_REGISTRATION: 'documents',
      CLIENT_REGISTRATION_APIS: api,
      CLIENT_REGISTRATION_SCOPES: 'mcp:tools',
      ALLOW_PRIVATE_NETWORK: 'true',
    },
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
  }))

  const startOf = (id: string, more: Record<string, string> = {}): URL =>
    authorizeUrl(service, { client_id: id, ...more })
  const fetches = (path: string): number => host.asked.filter((one) => one === path).length
  async function rejected(id: string): Promise<string> {
    const answer = await service.fetch(startOf(id).pathname + startOf(id).search, {
      headers: { accept: 'text/html' },
    })
    const page = await answer.text()
    assert.equal(answer.status, 400, page)
    assert.equal(answer.headers.get('location'), null)
    return page
  }

  test('the metadata of the service list it, and no registration', async () => {
    const answer = await service.fetch('/.well-known/oauth-authorization-server')
    const metadata = (await answer.json()) as Record<string, unknown>
    assert.equal(metadata['client_id_metadata_document_supported'], true)
    assert.equal(metadata['registration_endpoint'], undefined)
    assert.equal((await service.fetch('/oauth2/register', { method: 'POST' })).status, 404)
  })

  test('a person allows the app, whose host the page shows, and it gets a token for the API', async () => {
    const id = host.publishApp('/client.json')
    const pkce = newPkce()
    const browser = new Browser()
    await signIn(service, browser)
    const asked = { redirect_uri: loopback, scope: 'mcp:tools', resource: api }
    const answer = await browser.go(authorizeUrl(service, { client_id: id, ...asked }, pkce))
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    assert.match(page, new RegExp(`The app identifies itself as <code>${new URL(id).host}</code>`))
    const target = await allow(service, browser, page)
    assert.equal(target.host, 'localhost:41234')
    const { status, body } = await token(service, {
      grant_type: 'authorization_code',
      client_id: id,
      code: target.searchParams.get('code')!,
      code_verifier: pkce.verifier,
      redirect_uri: loopback,
      resource: api,
    })
    assert.equal(status, 200, JSON.stringify(body))
    const claims = decodeJwt(String(body['access_token']))
    assert.deepEqual([claims.aud, claims['scope'], claims['client_id']], [api, 'mcp:tools', id])
    assert.equal(fetches('/client.json'), 1, 'it is cached')
    const apps = await browser.go(new URL('/auth/apps', service.baseUrl))
    assert.match(await apps.text(), new RegExp(id))
    shift += 3_700_000
    const refreshed = await token(service, {
      grant_type: 'refresh_token',
      client_id: id,
      refresh_token: String(body['refresh_token']),
    })
    assert.equal(refreshed.status, 200)
    assert.equal(fetches('/client.json'), 2, 'it is fetched again after an hour')
  })

  test('the token endpoint serves pages of any origin: any page can have a document', async () => {
    const answer = await service.fetch('/oauth2/token', {
      method: 'POST',
      headers: { origin: 'https://inspector.example' },
      body: new URLSearchParams({ grant_type: 'authorization_code' }),
    })
    assert.equal(answer.headers.get('access-control-allow-origin'), 'https://inspector.example')
  })

  test('an app with private_key_jwt authenticates by the keys of its document, and not without', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    const id = host.publishApp('/keys.json', {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [jwk] },
    })
    const assertion = (key: CryptoKey) =>
      new SignJWT({})
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(id)
        .setSubject(id)
        .setAudience(service.baseUrl)
        .setJti(crypto.randomUUID())
        .setIssuedAt(Math.floor((Date.now() + shift) / 1000))
        .setExpirationTime(Math.floor((Date.now() + shift) / 1000) + 60)
        .sign(key)
    const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: callback }
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const by = async (fields: Record<string, string>) =>
      (await token(service, { ...code, code_verifier: newPkce().verifier, ...fields })).body['error']
    const signed = { client_assertion_type: type, client_assertion: await assertion(privateKey) }
    assert.equal(await by(signed), 'invalid_grant', 'it authenticated, and the code is wrong')
    assert.equal(await by({ client_id: id }), 'invalid_client')
    const { privateKey: other } = await generateKeyPair('ES256')
    assert.equal(await by({ ...signed, client_assertion: await assertion(other) }), 'invalid_client')
  })

  test('members of a document that are null or empty count as omitted', async () => {
    const empty = {
      client_name: null,
      scope: '',
      grant_types: [],
      jwks: null,
      id_token_signed_response_alg: null,
    }
    const id = host.publishApp('/empty-members.json', empty)
    const { pathname, search } = startOf(id)
    const answer = await service.fetch(pathname + search, { redirect: 'manual' })
    assert.equal(answer.status, 303, await answer.text())
  })

  test('attacks: documents that do not count', async () => {
    const bad: [path: string, document: Record<string, unknown>, why: RegExp][] = [
      ['/other-id', { client_id: 'https://claude.ai/client.json' }, /client_id is not its own address/],
      ['/no-id', { client_id: undefined }, /client_id is not its own address/],
      ['/secret', { client_secret: 'x' }, /client_secret/],
      ['/expiry', { client_secret_expires_at: 0 }, /client_secret/],
      ['/basic', { token_endpoint_auth_method: 'client_secret_basic' }, /token_endpoint_auth_method/],
      ['/post', { token_endpoint_auth_method: 'client_secret_post' }, /token_endpoint_auth_method/],
      ['/hmac', { token_endpoint_auth_method: 'client_secret_jwt' }, /token_endpoint_auth_method/],
      ['/no-keys', { token_endpoint_auth_method: 'private_key_jwt' }, /needs jwks/],
      [
        '/symmetric',
        { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } },
        /private members/,
      ],
      ['/script', { redirect_uris: ['javascript:alert(1)'] }, /scheme javascript:/],
      ['/http', { redirect_uris: ['http://app.example.com/callback'] }, /must be https/],
      ['/none', { redirect_uris: [] }, /no redirectUris/],
      ['/text', { redirect_uris: ['Call 555 now'] }, /URI \\"Call\?555\?now\\" must/],
      ['/bye', { post_logout_redirect_uris: ['Call 555 now'] }, /URI \\"Call\?555\?now\\" must/],
      ['/number', { redirect_uris: [1] }, /redirect_uris is not a list of texts/],
      ['/name', { client_name: 'a\u202eb' }, /visible text/],
      ['/huge', { client_name: 'x', padding: 'x'.repeat(6_000) }, /larger than 5120 bytes/],
    ]
    for (const [path, more, why] of bad) {
      const page = await answered(host.publishApp(path, more), path === '/huge' ? 503 : 400)
      assert.match(page, why, path)
    }
    assert.match(
      await rejected(host.publish('/plain', (response) => response.end('{}'))),
      /Content-Type is not application\/json/,
    )
    const json =
      (body: string, status = 200, headers = {}) =>
      (response: ServerResponse) =>
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
    assert.match(await rejected(host.publish('/broken', json('{"client_id":'))), /not JSON/)
    assert.match(await rejected(host.publish('/list', json('[]'))), /not a JSON object/)
    assert.match(await rejected(host.publish('/gone', json('{}', 410))), /HTTP 410/)
    const good = host.publishApp('/good.json')
    const before = fetches('/good.json')
    assert.match(
      await rejected(host.publish('/redirect', json('', 302, { location: good }))),
      /redirects are not followed/,
    )
    assert.equal(fetches('/good.json'), before)
    const redirect = await rejected(`${good}?x`)
    assert.match(redirect, /HTTP 404/)
    const evil = startOf(good, { redirect_uri: 'https://evil.example/callback' })
    assert.equal((await service.fetch(evil.pathname + evil.search)).status, 400, 'redirect URIs are exact')
  })

  async function answered(id: string, status: number): Promise<string> {
    const url = startOf(id)
    const answer = await service.fetch(url.pathname + url.search, { headers: { accept: 'application/json' } })
    const text = await answer.text()
    assert.equal(answer.status, status, text)
    return text
  }

  test('addresses that are no ids are never fetched', async () => {
    const asked = host.asked.length
    for (const id of [
      host.url,
      `${host.url}/`,
      `${host.url}/a/../client.json`,
      `${host.url}/%2e%2e/client.json`,
      `${host.url}/client.json#x`,
      `${host.url.replace('https://', 'https://user:pass@')}/client.json`,
      `${host.url.replace('https:', 'http:')}/client.json`,
      `${host.url.replace('https:', 'HTTPS:')}/client.json`,
      `${host.url}/${'x'.repeat(600)}`,
    ]) {
      assert.ok(!isDocumentId(id), id)
      assert.match(await rejected(id), /No app with this ID is registered/)
    }
    assert.equal(host.asked.length, asked)
  })

  test('a document that changes for the worse ends the sign-ins of its app at the next fetch', async () => {
    const id = host.publishApp('/withdrawn.json')
    assert.equal((await service.fetch(startOf(id).pathname + startOf(id).search)).status, 303)
    host.publish('/withdrawn.json', { client_id: 'https://other.example/x' })
    assert.equal((await service.fetch(startOf(id).pathname + startOf(id).search)).status, 303, 'cached')
    shift += 3_700_000
    assert.match(await rejected(id), /client_id is not its own address/)
  })

  test('Cache-Control shortens and lengthens the life of a document, within bounds', async () => {
    const lives: [control: string, seconds: number][] = [
      ['no-store', 60],
      ['max-age=1', 60],
      ['max-age=600', 600],
      ['public, max-age=999999999', 86_400],
    ]
    for (const [control, seconds] of lives) {
      const path = `/${encodeURIComponent(control)}`
      const id = host.url + path
      const document = { client_id: id, redirect_uris: [callback] }
      host.publish(path, (response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'cache-control': control })
          .end(JSON.stringify(document)),
      )
      const ask = async () => service.fetch(startOf(id).pathname + startOf(id).search)
      assert.equal((await ask()).status, 303)
      shift += (seconds - 30) * 1000
      await ask()
      assert.equal(fetches(path), 1, control)
      shift += 60_000
      await ask()
      assert.equal(fetches(path), 2, control)
    }
  })
})

const [engine] = engines

test('private addresses are not called unless the setting allows it', async () => {
  await using host = scoped(await startDocumentHost())
  await using service = await startTestService(engine!, {
    env: { CLIENT_REGISTRATION: 'open', ALLOW_PRIVATE_NETWORK: 'false' },
  })
  for (const id of [
    host.publishApp('/client.json'),
    `https://127.0.0.1:${new URL(host.url).port}/client.json`,
    'https://[::1]/client.json',
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/client.json',
  ]) {
    const url = authorizeUrl(service, { client_id: id })
    const answer = await service.fetch(url.pathname + url.search)
    const { detail } = (await answer.json()) as { detail: string }
    assert.equal(answer.status, 503, id)
    assert.equal(
      detail,
      'It could not be fetched, or is larger than 5120 bytes.',
      'it says nothing about the network',
    )
  }
  assert.deepEqual(host.asked, [])
})

test('without the setting, an address is an unknown id', async () => {
  await using host = scoped(await startDocumentHost())
  for (const mode of ['off', 'token']) {
    const service = await startTestService(engine!, {
      env: { CLIENT_REGISTRATION: mode, ALLOW_PRIVATE_NETWORK: 'true' },
    })
    const url = authorizeUrl(service, { client_id: host.publishApp('/client.json') })
    assert.equal((await service.fetch(url.pathname + url.search)).status, 400)
    const metadata = await service.fetch('/.well-known/oauth-authorization-server')
    assert.match(await metadata.text(), /"client_id_metadata_document_supported":false/)
    await service.close()
  }
  assert.deepEqual(host.asked, [])
})

test('one address can cause so many fetches in a minute', async () => {
  await using host = scoped(await startDocumentHost())
  await using service = await startTestService(engine!, {
    env: { CLIENT_REGISTRATION: 'documents', ALLOW_PRIVATE_NETWORK: 'true', RATE_LIMIT: 'on' },
  })
  const status = async (path: string): Promise<number> => {
    const url = authorizeUrl(service, { client_id: host.url + path })
    return (await service.fetch(url.pathname + url.search)).status
  }
  host.publishApp('/client.json')
  assert.equal(await status('/client.json'), 303)
  for (let each = 0; each < 29; each += 1) assert.equal(await status(`/made-up-${each}`), 400)
  assert.equal(await status('/made-up-too'), 429)
  assert.equal(await status('/client.json'), 303, 'known documents go on')
  assert.equal(host.asked.length, 30)
})

test('the metadata are also where RFC 8414 has them for an issuer with a path', async () => {
  await using service = await startTestService(engine!, { env: { BASE_URL: 'http://127.0.0.1:1/gate' } })
  const { port } = service.app.server.address() as { port: number }
  for (const path of [
    '/.well-known/oauth-authorization-server/gate',
    '/.well-known/openid-configuration/gate',
    '/gate/.well-known/openid-configuration',
  ]) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    assert.equal(answer.status, 200, path)
    assert.equal(((await answer.json()) as { issuer: string }).issuer, 'http://127.0.0.1:1/gate')
  }
  const other = await fetch(`http://127.0.0.1:${port}/.well-known/oauth-authorization-server/other`)
  assert.equal(other.status, 404)
})

/** A request as far as `load` reads it. */
const request = {
  ip: '203.0.113.7',
  socket: {},
  server: { limits: { takeShared: async () => undefined } },
} as never

test('a slow document ends at the limit, concurrent calls share a fetch, and there are so many at a time', async () => {
  const host = await startDocumentHost()
  const documents = new ClientDocuments({ clock: systemClock, allowPrivateNetwork: true, timeout: 300 })
  try {
    const slow = Array.from({ length: 21 }, (_, index) =>
      host.publish(`/slow-${index}`, (response) => void response.writeHead(200).write('{')),
    )
    const calls = [...slow, ...slow.slice(0, 5)].map((id) =>
      documents.load(request, {} as never, id).catch((error: unknown) => (error as Problem).code),
    )
    const codes = await Promise.all(calls)
    assert.equal(codes.filter((code) => code === 'client-document-unavailable').length, 25)
    assert.equal(codes.filter((code) => code === 'too-many-requests').length, 1)
    assert.ok(host.asked.length <= 20)
  } finally {
    await documents.stop()
    await host.close()
  }
})
