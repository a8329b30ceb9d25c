import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ForwardAuthConfig, validateForwardAuth } from './config.ts'

const proxies = ['127.0.0.1']
const faults = (hosts: unknown) => validateForwardAuth({ hosts } as ForwardAuthConfig, proxies)

test('a complete configuration has no faults', () => {
  assert.deepEqual(validateForwardAuth({}, []), [])
  assert.deepEqual(
    faults({
      'app.example.com': {
        allow: [
          { roles: ['admin'] },
          { emailDomains: ['example.com'], groups: ['staff'], providers: ['acme'] },
        ],
        paths: { '/': 'everyone', '/health': 'everyone', '/admin/*': { identities: ['google:1'] } },
        token: true,
        resource: { path: '/health', scopes: ['mcp:tools'], name: 'Health' },
      },
      'app.example.com:8443': { allow: 'signed-in' },
      'api.example.com': {
        allow: 'signed-in',
        programs: { scopes: ['orders:read'] },
        cors: { origins: ['https://spa.example.com', 'http://localhost:5173'], credentials: true },
        paths: {
          '/mcp': {
            allow: { roles: ['admin'] },
            programs: { scopes: ['mcp:tools'] },
            cors: { origins: ['*'] },
          },
          '/orders/*': [
            { methods: ['GET', 'M-SEARCH'], allow: 'everyone' },
            { allow: 'signed-in', cors: 'application' },
          ],
        },
        resource: { path: '/mcp' },
      },
      'localhost:3001': { allow: 'everyone' },
      '[::1]:3001': { allow: 'everyone' },
    }),
    [],
  )
})

test('every mistake is named', () => {
  for (const [hosts, message] of [
    [[], /hosts must be an object/],
    [{ 'https://app.example.com': { allow: 'everyone' } }, /write a host in lowercase/],
    [{ 'App.example.com': { allow: 'everyone' } }, /write a host in lowercase/],
    [{ '*.example.com': { allow: 'everyone' } }, /write a host in lowercase/],
    [{ 'app.example.com/x': { allow: 'everyone' } }, /write a host in lowercase/],
    [{ 'app.example.com:443': { allow: 'everyone' } }, /write a host in lowercase/],
    [{ 'app.example.com': {} }, /allow is missing/],
    [{ 'app.example.com': { allow: 'anybody' } }, /must be 'everyone', 'signed-in'/],
    [{ 'app.example.com': { allow: [] } }, /no user could use it/],
    [{ 'app.example.com': { allow: {} } }, /has no condition/],
    [{ 'app.example.com': { allow: { roles: ['owner'] } } }, /"owner" is no role/],
    [{ 'app.example.com': { allow: { role: ['admin'] } } }, /role is unknown/],
    [{ 'app.example.com': { allow: { emailDomains: ['@example.com'] } } }, /is no domain/],
    [{ 'app.example.com': { allow: { identities: ['1174'] } } }, /is no identity/],
    [{ 'app.example.com': { allow: { providers: ['Google'] } } }, /is no name of a provider/],
    [{ 'app.example.com': { allow: { groups: [] } } }, /must be a list of texts/],
    [{ 'app.example.com': { allow: 'signed-in', token: 'yes' } }, /token must be true or false/],
    [{ 'app.example.com': { allow: 'signed-in', path: {} } }, /path is unknown/],
    [{ 'app.example.com': { allow: 'signed-in', resource: {} } }, /allow it to 'everyone' in paths/],
    [
      {
        'app.example.com': { allow: 'everyone', paths: { '/mcp': 'signed-in' }, resource: { path: '/mcp' } },
      },
      /must reach \/mcp/,
    ],
    [{ 'app.example.com': { allow: 'everyone', resource: { path: 'mcp' } } }, /path must be a path/],
    [{ 'app.example.com': { allow: 'everyone', resource: { scopes: ['a b'] } } }, /list of scopes/],
    [{ 'app.example.com': { allow: 'everyone', resource: { scope: 'a' } } }, /scope is unknown/],
    [{ 'app.example.com': { allow: 'everyone', resource: true } }, /must be an object with path/],
    [{ 'app.example.com': { allow: 'signed-in', methods: ['GET'] } }, /methods is unknown/],
    [{ 'app.example.com': { allow: 'everyone', programs: { scopes: ['a'] } } }, /programs has no effect/],
    ...[true, {}, { scopes: [] }, { scopes: 'a' }, { scopes: ['a b'] }, { scopes: ['"'] }].map(
      (programs) =>
        [
          { 'app.example.com': { allow: 'signed-in', programs } },
          /programs must be an object with scopes/,
        ] as const,
    ),
    ...[
      [{ methods: ['GET'] }, /allow is missing/],
      [[{ allow: 'everyone' }, { allow: 'everyone', roles: ['admin'] }], /roles is unknown/],
      [[{ allow: 'everyone' }, 'signed-in'], /must be a list of rules/],
      [{ allow: 'everyone', methods: ['get'] }, /methods must be a list/],
      [{ allow: 'everyone', methods: ['HEAD'] }, /methods must be a list/],
      [{ allow: 'everyone', methods: [] }, /methods must be a list/],
      [{ allow: 'everyone', token: true }, /token is unknown/],
      [{ allow: 'everyone', cors: 'any' }, /must be 'application'/],
      [{ allow: 'everyone', cors: { origins: ['null'] } }, /must be 'application'/],
      [{ allow: 'everyone', cors: { origins: ['https://a.example/'] } }, /must be 'application'/],
      [{ allow: 'everyone', cors: { origins: ['https://*.a.example'] } }, /must be 'application'/],
      [{ allow: 'everyone', cors: { origins: ['*'], credentials: true } }, /needs origins without \*/],
      [{ allow: 'everyone', cors: { origins: ['*'], methods: ['GET'] } }, /methods is unknown/],
    ].map(
      ([rule, message]) =>
        [{ 'app.example.com': { allow: 'signed-in', paths: { '/a': rule } } }, message as RegExp] as const,
    ),
    ...['admin', '/a*', '/*/a', '/a?b', '/a%20b', '/a//b', '/a/../b'].map(
      (path) =>
        [
          { 'app.example.com': { allow: 'signed-in', paths: { [path]: 'everyone' } } },
          /write a path such as/,
        ] as const,
    ),
  ] as const) {
    const [fault, ...more] = faults(hosts)
    assert.match(fault ?? '', message)
    assert.match(fault ?? '', /^forwardAuth/)
    assert.deepEqual(more, [])
  }
})

test('without TRUSTED_PROXIES no request could be believed', () => {
  assert.match(
    validateForwardAuth({ hosts: { 'app.example.com': { allow: 'everyone' } } }, [])[0]!,
    /needs TRUSTED_PROXIES/,
  )
})
