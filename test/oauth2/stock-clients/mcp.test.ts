// The official SDKs of the Model Context Protocol, unmodified, sign a person in and call an MCP server that verifies the tokens
// with the client package: by registration, and by a metadata document.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Browser, onOneEngine, started, startedService, startOAuthProvider } from '#test/harness/index.ts'
import { signIn } from '../../login/harness.ts'
import { startDocumentHost } from '../document-host.ts'
import { allow } from '../harness.ts'
import { startMcpServer } from './mcp-server.ts'
import { pythonProgram, run } from './programs.ts'

const redirectUri = 'http://localhost:41234/callback'

/** What the SDK in TypeScript asks its application for. */
class Memory implements OAuthClientProvider {
  readonly redirectUrl = redirectUri
  readonly clientMetadata = {
    client_name: 'TypeScript SDK',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  readonly clientMetadataUrl?: string
  opened: URL | undefined
  #client: ReturnType<OAuthClientProvider['clientInformation']>
  #tokens: ReturnType<OAuthClientProvider['tokens']>
  #verifier = ''

  constructor(document?: string) {
    if (document !== undefined) this.clientMetadataUrl = document
  }
  clientInformation: OAuthClientProvider['clientInformation'] = () => this.#client
  saveClientInformation: NonNullable<OAuthClientProvider['saveClientInformation']> = (client) =>
    void (this.#client = client)
  tokens: OAuthClientProvider['tokens'] = () => this.#tokens
  saveTokens: OAuthClientProvider['saveTokens'] = (tokens) => void (this.#tokens = tokens)
  redirectToAuthorization: OAuthClientProvider['redirectToAuthorization'] = (url) => void (this.opened = url)
  saveCodeVerifier: OAuthClientProvider['saveCodeVerifier'] = (verifier) => void (this.#verifier = verifier)
  codeVerifier: OAuthClientProvider['codeVerifier'] = () => this.#verifier
}

const python = pythonProgram('mcp_client.py', 'MCP_PYTHON', ['mcp'])

onOneEngine('MCP clients', (engine) => {
  let issuer = ''
  const provider = started(startOAuthProvider)
  const host = started(startDocumentHost)
  const server = started(() => startMcpServer(() => issuer))
  const service = startedService(engine, () => ({
    env: {
      ...provider.env('ACME'),
      CLIENT_REGISTRATION: 'open',
      CLIENT_REGISTRATION_APIS: server.url,
      CLIENT_REGISTRATION_SCOPES: 'mcp:tools',
      ALLOW_PRIVATE_NETWORK: 'true',
    },
  }))

  /** A person signs in, and allows what the SDK asks for. Returns where the browser goes on to, and the user. */
  async function person(opened: URL): Promise<{ target: URL; userId: string }> {
    const browser = new Browser()
    await signIn(service, browser)
    const answer = await browser.go(opened)
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    assert.match(page, /<li>Use <code>mcp:tools<\/code>/)
    const target = await allow(service, browser, page)
    const session = await browser.go(new URL('/auth/session', service.baseUrl))
    return { target, userId: ((await session.json()) as { sub: string }).sub }
  }

  async function withTypeScript(document?: string): Promise<string> {
    const memory = new Memory(document)
    const transport = () => new StreamableHTTPClientTransport(new URL(server.url), { authProvider: memory })
    const first = transport()
    await assert.rejects(new Client({ name: 'test', version: '1' }).connect(first), UnauthorizedError)
    const { target, userId } = await person(memory.opened!)
    await first.finishAuth(target.searchParams.get('code')!)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport())
    const { content } = (await client.callTool({ name: 'whoami' })) as { content: { text: string }[] }
    await client.close()
    const [, user, app] = /^(\S+) with (\S+)$/.exec(content[0]!.text)!
    assert.equal(user, userId)
    return app!
  }

  async function withPython(document?: string): Promise<string> {
    assert.ok('command' in python)
    const program = run(python.command, [
      server.url,
      redirectUri,
      ...(document === undefined ? [] : [document]),
    ])
    try {
      const opened = /^open (.*)$/.exec(await program.nextLine())?.[1]
      const { target, userId } = await person(new URL(opened!))
      program.write(target.href)
      const [text, scope] = JSON.parse(await program.nextLine()) as [text: string, scope: string]
      const [, user, app] = /^(\S+) with (\S+)$/.exec(text)!
      assert.equal(user, userId)
      assert.equal(scope, 'mcp:tools offline_access', 'the SDK asks for refresh tokens as SEP-2207 says')
      return app!
    } finally {
      program.stop()
    }
  }

  const skip = 'missing' in python ? python.missing : false
  for (const [name, call, skipped] of [
    ['TypeScript', withTypeScript, false],
    ['Python', withPython, skip],
  ] as const) {
    test(`the SDK in ${name} registers, signs a person in and calls a tool`, { skip: skipped }, async () => {
      issuer = service.baseUrl
      assert.match(await call(), /^app_/)
    })

    test(`the SDK in ${name} does the same with a metadata document`, { skip: skipped }, async () => {
      issuer = service.baseUrl
      const id = host.publishApp(`/${name}.json`, { redirect_uris: ['http://localhost/callback'] })
      assert.equal(await call(id), id)
    })
  }

  test('the server tells where its metadata are, and rejects tokens for other APIs', async () => {
    issuer = service.baseUrl
    const url = new URL(server.url)
    const metadataUrl = `${url.origin}/.well-known/oauth-protected-resource/mcp`
    const refused = await fetch(server.url, { method: 'POST' })
    assert.equal(refused.status, 401)
    assert.equal(
      refused.headers.get('www-authenticate'),
      `Bearer scope="mcp:tools", resource_metadata="${metadataUrl}"`,
    )
    const metadata = await fetch(metadataUrl)
    assert.deepEqual(await metadata.json(), {
      resource: server.url,
      authorization_servers: [service.baseUrl],
      bearer_methods_supported: ['header'],
      scopes_supported: ['mcp:tools'],
      resource_name: 'Orders',
    })
    const wrong = await fetch(server.url, { method: 'POST', headers: { authorization: 'Bearer a.b.c' } })
    assert.match(
      wrong.headers.get('www-authenticate')!,
      /^Bearer error="invalid_token", scope="mcp:tools", resource_metadata=/,
    )
  })
})
