import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorOf } from './errors.ts'
import { createProtectedResource } from './resource.ts'
import { refusalOf, tokenGuard } from './adapters/guards.ts'

const issuer = 'https://gate.example.com'
const wellKnown = '/.well-known/oauth-protected-resource'

test('the metadata are where RFC 9728 has them', () => {
  const paths: [resource: string, path: string][] = [
    ['https://mcp.example.com', wellKnown],
    ['https://mcp.example.com/', wellKnown],
    ['https://mcp.example.com/mcp', `${wellKnown}/mcp`],
    ['https://mcp.example.com/a/b/', `${wellKnown}/a/b/`],
  ]
  for (const [resource, path] of paths) {
    const made = createProtectedResource({ resource, issuer })
    assert.equal(made.metadataPath, path)
    assert.equal(made.metadataUrl, `https://mcp.example.com${path}`)
    assert.equal(made.metadata.resource, resource, 'as it is written')
  }
  for (const resource of ['mcp.example.com', 'ftp://mcp.example.com', 'https://mcp.example.com/#x', ''])
    assert.throws(() => createProtectedResource({ resource, issuer }), TypeError)
})

test('web and Node servers answer requests for the metadata, and no others', async () => {
  const made = createProtectedResource({
    resource: 'https://mcp.example.com/mcp',
    issuer,
    scopes: ['mcp:tools'],
    name: 'Orders',
    documentation: 'https://docs.example.com',
  })
  const ask = (path: string, method = 'GET') =>
    made.respond(new Request(`https://mcp.example.com${path}`, { method }))
  for (const path of [wellKnown, `${wellKnown}/mcp/x`, `${wellKnown}/MCP`, '/mcp'])
    assert.equal(ask(path), undefined, path)
  const answer = ask(`${wellKnown}/mcp?x=1`)!
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.deepEqual(await answer.json(), {
    resource: 'https://mcp.example.com/mcp',
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    scopes_supported: ['mcp:tools'],
    resource_name: 'Orders',
    resource_documentation: 'https://docs.example.com',
  })
  assert.equal(ask(`${wellKnown}/mcp`, 'OPTIONS')!.status, 204)
  assert.equal(ask(`${wellKnown}/mcp`, 'POST')!.status, 405)
  const sent: unknown[] = []
  const response = {
    writeHead: (status: number) => ({ end: (body?: string) => sent.push(status, typeof body) }),
  }
  const serve = (request: { method?: string; url?: string; originalUrl?: string }) =>
    made.serve(request, response, () => sent.push('next'))
  serve({ method: 'GET', url: `${wellKnown}/mcp?x` })
  serve({ method: 'GET', url: '/', originalUrl: `${wellKnown}/mcp` })
  serve({ method: 'OPTIONS', url: `${wellKnown}/mcp` })
  serve({ method: 'POST', url: '/mcp' })
  assert.deepEqual(sent, [200, 'string', 200, 'string', 204, 'undefined', 'next'])
})

test('refusals name the metadata and the scopes', async () => {
  const made = createProtectedResource({ resource: 'https://mcp.example.com/mcp', issuer })
  const where = `resource_metadata="${made.metadataUrl}"`
  const challengeFor = async (authorization: string | undefined, scope?: string[]): Promise<unknown> => {
    const verifier = {
      ...made,
      verify: async (token: string) => {
        throw errorOf(token === 'poor' ? 'insufficient-scope' : 'invalid-token', token === 'poor' ? 403 : 401)
      },
    }
    const headers = authorization === undefined ? {} : { authorization }
    const error: unknown = await tokenGuard(verifier, { scope })({ headers }).catch((fault: unknown) => fault)
    return refusalOf(error).headers['www-authenticate']
  }
  assert.equal(await challengeFor(undefined), `Bearer ${where}`)
  assert.equal(await challengeFor('Bearer bad'), `Bearer error="invalid_token", ${where}`)
  assert.equal(
    await challengeFor('Bearer poor', ['mcp:a', 'mcp:b']),
    `Bearer error="insufficient_scope", scope="mcp:a mcp:b", ${where}`,
  )
})
