import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GuardedHost } from './hosts.ts'
import { readingsOf } from './path-readings.ts'

test('a plain path has one reading', () => {
  for (const path of ['/', '/a', '/a/', '/a/b.c/d~e', "/a/!$&'()*+,=:@-_x"])
    assert.deepEqual(readingsOf(path), [path])
})

test('what an application may make of a path is among its readings', () => {
  for (const [path, reading] of [
    ['/public/../admin', '/admin'],
    ['/public/%2e%2e/admin', '/admin'],
    ['/public/%2E./admin/', '/admin/'],
    ['/public%2f..%2fadmin', '/admin'],
    ['/public%252f..%252fadmin', '/admin'],
    ['/public/%25%32%65%25%32%65/admin', '/admin'],
    ['/public\\..\\admin', '/admin'],
    ['/public/..%5cadmin', '/admin'],
    ['/public/..;/admin', '/admin'],
    ['/public/..;x=1/admin', '/admin'],
    ['/public%3b/../admin', '/admin'],
    ['/public/%2e%2e%3bx/admin', '/admin'],
    ['//admin', '/admin'],
    ['/public//..//admin', '/admin'],
    ['/./admin', '/admin'],
    ['/%61dmin', '/admin'],
    ['/admin;v=1/x', '/admin/x'],
    ['/../../admin', '/admin'],
    ['/admin/.', '/admin/'],
  ] as const)
    assert.ok(readingsOf(path).includes(reading), `${path}: ${readingsOf(path).join(' ')}`)
})

test('escapes that are no text are no other path', () => {
  for (const reading of readingsOf('/%ff%fe/x')) assert.ok(!reading.startsWith('/x'))
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
    .rulesFor(path)
    .map((rule) => (typeof rule === 'string' ? rule : 'admin'))
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

test('a path counts in both ways that applications treat case', () => {
  for (const path of ['/Admin', '/ADMIN/users', '/public/..%2fADMIN', '/reports', '/%52EPORTS/'])
    assert.ok(names(path).includes('admin'), `${path}: ${names(path).join()}`)
  assert.deepEqual(names('/Public/x'), ['everyone', 'signed-in'])
  assert.deepEqual(names('/Pages/One'), ['signed-in'])
  assert.deepEqual([host.plainRuleFor('/Admin'), host.plainRuleFor('/Pages/One')], [undefined, 'signed-in'])
})
