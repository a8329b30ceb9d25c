import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GuardedHost, readingsOf } from './hosts.ts'

test('a plain path has one reading', () => {
  for (const path of ['/', '/a', '/a/', '/a/b.c/d~e', "/a/!$&'()*+,=:@-_x"])
    assert.deepEqual(readingsOf(path), [path])
})

test('what an application may make of a path is among its readings', () => {
  for (const [reading, paths] of Object.entries({
    '/admin': [
      '/public/../admin',
      '/public/%2e%2e/admin',
      '/public%2f..%2fadmin',
      '/public%252f..%252fadmin',
      '/public/%25%32%65%25%32%65/admin',
      '/public\\..\\admin',
      '/public/..%5cadmin',
      '/public/..;/admin',
      '/public/..;x=1/admin',
      '/public%3b/../admin',
      '/public/%2e%2e%3bx/admin',
      '//admin',
      '/public//..//admin',
      '/./admin',
      '/%61dmin',
      '/../../admin',
      // Programs that keep empty segments, as RFC 3986 and the URL class do.
      '//a.example/admin',
      '/\\a.example/admin',
      // Tomcat removes parameters first, decodes then, and resolves at last.
      '/b/..;%2f/a%64min',
      '/b;\\..\\c/../admin',
      '/b%2fc/%2e%2e/admin',
      '/%25252561dmin',
      '/public/..%00/admin',
      '/public/.%00./admin',
      '/public/.%09./admin',
      '/public/.%0d%0a./admin',
      '/admin%00.png',
      '/admin%3fpublic',
      '/admin%3Fx=/public/y',
      '/admin%23public',
      '/public/../admin%2523/x',
      '/public/%u002e%u002e/admin',
      '/%u0061dmin',
      '/public/%25u002e%25u002e/admin',
      // Full-width dots and slashes, written out and escaped.
      '/public/%ef%bc%8e%ef%bc%8e/admin',
      '/public/\u00ef\u00bc\u008e\u00ef\u00bc\u008e/admin',
      '/public/%uff0e%uff0e/admin',
      '/public/..%ef%bc%8fadmin',
      '/public/..%ef%bc%bcadmin',
      '/%ef%bd%81dmin',
      // Overlong UTF-8, and what old decoders took for it.
      '/public/%c0%ae%c0%ae/admin',
      '/public/%e0%80%ae%e0%80%ae/admin',
      '/public/%f0%80%80%ae%f0%80%80%ae/admin',
      '/public/..%c0%afadmin',
      '/public/..%c1%9cadmin',
      '/public/..%c1%1cadmin',
      '/%c1%a1dmin',
      // Windows.
      '/admin.',
      '/admin...',
      '/admin%20',
      '/admin%20.%20',
      '/public/..%20/admin',
      '/public/..%20./admin',
      '/public/...%5c../%2e%2e%20/admin',
    ],
    '/admin/': ['/public/%2E./admin/', '/admin/.'],
    '/admin/x': ['/admin;v=1/x'],
    '/admin/users': [
      // With empty segments kept.
      '/a/../admin//../users',
      '/a/%2e%2e/admin%2f/../users',
      // In the order of Tomcat.
      '/b/../a%64min;%2f../users',
    ],
  }))
    for (const path of paths)
      assert.ok(readingsOf(path)?.includes(reading), `${path}: ${readingsOf(path)?.join(' ')}`)
})

test('each order of each step counts', () => {
  const seen = readingsOf('/x//%2e%2e;a%2f/..\\y%3b/%252e/z')
  for (const reading of seen ?? [])
    for (const next of readingsOf(reading) ?? []) assert.ok(seen!.includes(next), `${reading}: ${next}`)
})

test('letters beyond ASCII count as UTF-8 and as Latin-1, escaped or not', () => {
  // Node reads each byte of a header as one character.
  for (const path of ['/caf%C3%A9', '/caf\u00c3\u00a9', '/caf\u00c3%A9', '/caf%E9', '/caf\u00e9'])
    assert.ok(readingsOf(path)?.includes('/caf\u00e9'), path)
})

test('a path in use has few readings, and one with too many has none', () => {
  for (const path of [
    '/a%20b/c',
    '/a/../b',
    '/.well-known/x',
    '/a;v=1/b;w=2',
    '/r/https%3A%2F%2Fa.example%2Fb',
    '/r/https%3A%2F%2Fa.example%2Fb%3Fc%3Dd',
    '/caf%C3%A9.',
    '/wiki/Stra%C3%9Fe%20%281%29',
    '/%E6%96%87%E6%9B%B8/%E4%B8%80%E8%A6%A7.html',
    '/100%25',
  ])
    assert.ok(readingsOf(path)!.length < 10, `${path}: ${readingsOf(path)?.join(' ')}`)
  assert.equal(readingsOf(`/%25${'25'.repeat(300)}`), undefined)
  assert.equal(readingsOf(`/${'a;b%2f/../'.repeat(10_000)}`), undefined)
})

test('escapes that are no text are no other path', () => {
  for (const reading of readingsOf('/%ff%fe/x') ?? []) assert.ok(!reading.startsWith('/x'))
})

const host = new GuardedHost(
  'app.example.com',
  {
    allow: 'signed-in',
    paths: {
      '/public/*': 'everyone',
      '/admin/*': { roles: ['admin'] },
      '/public/login': 'signed-in',
      '/Reports': { roles: ['admin'] },
    },
  },
  'https://gate.example.com',
)
const names = (path: string): string[] =>
  host
    .rulesFor(path, ['GET'])
    .map(({ allow }) => (typeof allow === 'string' ? allow : 'admin'))
    .toSorted()

test('each rule of each reading must hold', () => {
  assert.deepEqual(names('/public/x'), ['everyone'])
  assert.deepEqual(names('/public'), ['everyone'])
  assert.deepEqual(names('/public/login'), ['signed-in'])
  assert.deepEqual(names('/public/login/'), ['signed-in'])
  assert.deepEqual(names('/publicity'), ['signed-in'])
  assert.deepEqual(names('/admin/'), ['admin'])
  assert.deepEqual(names('/public/../admin/x'), ['admin', 'everyone'])
  assert.ok(names('/public%2f..%2fadmin').includes('admin'))
  assert.ok(names('/%61dmin').includes('admin'))
})

test('a path around a rule, or around an exception for everyone, does not escape it', () => {
  for (const path of ['/a/../admin//../users', '/b/../a%64min;%2f../users', '/public/../admin//../public/x'])
    assert.ok(names(path).includes('admin'), `${path}: ${names(path).join()}`)
})

test('nobody passes with a path that has too many readings', () => {
  assert.deepEqual(host.rulesFor(`/public/%25${'25'.repeat(300)}`, ['GET']), [{ allow: [] }])
})

test('a path counts in both ways that applications treat case', () => {
  // U+017F, U+0131: letters whose capitals are `S` and `I`. U+0130: a letter whose small letter is `i`.
  const odd = ['/report%C5%BF', '/adm%C4%B1n/users', '/adm%C4%B0n/users']
  for (const path of ['/Admin', '/ADMIN/users', '/public/..%2fADMIN', '/reports', '/%52EPORTS/', ...odd])
    assert.ok(names(path).includes('admin'), `${path}: ${names(path).join()}`)
  assert.deepEqual(names('/Public/x'), ['everyone', 'signed-in'])
  assert.deepEqual(names('/Pages/One'), ['signed-in'])
  const plain = ['/Admin', '/Pages/One'].map((path) => host.plainRuleFor(path, 'GET')?.allow)
  assert.deepEqual(plain, [undefined, 'signed-in'])
})
