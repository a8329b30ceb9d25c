import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { readSpoolUrl } from './spool-url.ts'

const gibibyte = 1024 ** 3

test('reads a relative or absolute file and its maximum size', () => {
  const file = (url: string): unknown => readSpoolUrl(url)
  const common = { kind: 'file', maxBytes: 4 * gibibyte }
  assert.deepEqual(file('file:/var/lib/postern/spool.db'), { ...common, file: '/var/lib/postern/spool.db' })
  assert.deepEqual(file('file:///var/lib/spool.db'), { ...common, file: '/var/lib/spool.db' })
  assert.deepEqual(file('file:data/spool.db'), { ...common, file: resolve('data/spool.db') })
  assert.deepEqual(file('file:/spool.db?max_bytes=1073741824'), {
    kind: 'file',
    file: '/spool.db',
    maxBytes: gibibyte,
  })
})

test('reads NATS servers, credentials, stream, replicas and maximum size', () => {
  const common = {
    kind: 'nats',
    tls: undefined,
    credentials: undefined,
    stream: 'POSTERN_SPOOL',
    replicas: 3,
  }
  assert.deepEqual(readSpoolUrl('nats://one'), { ...common, servers: ['one:4222'], maxBytes: 4 * gibibyte })
  assert.deepEqual(
    readSpoolUrl('tls://me:p%40ss@one:1,two,[::1]:3/?replicas=1&stream=GATE&max_bytes=1073741824'),
    {
      kind: 'nats',
      servers: ['one:1', 'two:4222', '[::1]:3'],
      tls: {},
      credentials: { user: 'me', pass: 'p@ss' },
      stream: 'GATE',
      replicas: 1,
      maxBytes: gibibyte,
    },
  )
  assert.deepEqual(readSpoolUrl('nats://a-token@one'), {
    ...common,
    servers: ['one:4222'],
    credentials: { token: 'a-token' },
    maxBytes: 4 * gibibyte,
  })
})

test('reads the TLS files', () => {
  const tlsOf = (url: string): unknown => {
    const settings = readSpoolUrl(url)
    return settings.kind === 'nats' ? settings.tls : 'a file'
  }
  assert.equal(tlsOf('nats://one'), undefined)
  assert.deepEqual(tlsOf('tls://one?ca=/etc/nats/ca.pem'), { ca: '/etc/nats/ca.pem' })
  assert.deepEqual(tlsOf('tls://one?ca=ca.pem&cert=/me.pem&key=/me.key'), {
    ca: resolve('ca.pem'),
    cert: '/me.pem',
    key: '/me.key',
  })
})

test('refuses invalid settings without showing secrets', () => {
  const refused = [
    'file:',
    'file:/var/lib/postern/',
    'file://host/spool.db',
    'file:/spool.db?max_bytes=5',
    'file:/spool.db?max_bytes=much',
    'file:/spool.db?size=swordfish',
    '/var/lib/postern/spool.db',
    'redis://user:swordfish@host',
    'nats://',
    'nats://user:swordfish@',
    'nats://user:swordfish%zz@one',
    'nats://one/swordfish',
    'nats://one?replicas=0',
    'nats://one?replicas=6',
    'nats://one?stream=sword.fish',
    'nats://one?tls=swordfish',
    'nats://one:port',
    'nats://one?ca=/swordfish.pem',
    'tls://one?ca=',
    'tls://one?cert=/swordfish.pem',
  ]
  for (const url of refused)
    assert.throws(
      () => readSpoolUrl(url),
      (error: Error) => !error.message.includes('swordfish'),
      url,
    )
})
