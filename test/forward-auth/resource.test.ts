// An application behind the proxy that is an API, such as an MCP server: the service serves its metadata (RFC 9728).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines } from '#test/harness/engines.ts'
import { GuardedSite } from './harness.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

describe('metadata of guarded APIs', () => {
  const site = new GuardedSite(engines[0]!, () => ({
    hosts: {
      'mcp.example.com': {
        allow: 'signed-in',
        paths: { '/mcp': 'everyone' },
        resource: { path: '/mcp', scopes: ['mcp:tools'], name: 'Orders' },
      },
      'api.example.com:8443': { allow: 'everyone', resource: {} },
      'wiki.example.com': { allow: 'signed-in' },
    },
  }))
  const ask = (host: string, path: string): Promise<Response> =>
    site.service.fetch(path, { headers: { 'x-forwarded-host': host } })

  test('they are at the host of the API, below the well-known path', async () => {
    const answer = await ask('mcp.example.com', `${wellKnown}/mcp`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    assert.deepEqual(await answer.json(), {
      resource: 'http://mcp.example.com/mcp',
      authorization_servers: [site.service.baseUrl],
      bearer_methods_supported: ['header'],
      scopes_supported: ['mcp:tools'],
      resource_name: 'Orders',
    })
    const whole = await ask('api.example.com:8443', wellKnown)
    assert.equal(((await whole.json()) as { resource: string }).resource, 'http://api.example.com:8443')
  })

  test('other hosts and paths have none', async () => {
    for (const [host, path] of [
      ['mcp.example.com', wellKnown],
      ['mcp.example.com', `${wellKnown}/other`],
      ['mcp.example.com', `${wellKnown}/mcp/`],
      ['api.example.com:8443', `${wellKnown}/mcp`],
      ['wiki.example.com', wellKnown],
      ['evil.example.com', `${wellKnown}/mcp`],
      [site.ownHost, wellKnown],
    ] as const)
      assert.equal((await ask(host, path)).status, 404, `${host}${path}`)
  })

  test('the gate lets clients without a session reach the API, and nothing else of the host', async () => {
    const bearer = { headers: { authorization: 'Bearer x' }, method: 'POST' }
    assert.equal((await site.ask(undefined, 'mcp.example.com', '/mcp', bearer)).status, 204)
    assert.equal((await site.ask(undefined, 'mcp.example.com', '/', bearer)).status, 401)
  })
})
