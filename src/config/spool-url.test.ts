import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { spoolUrl } from './address-readers.ts'

const gibibyte = 1024 ** 3

test('reads a relative or absolute file and its maximum size', () => {
  const maxBytes = 4 * gibibyte
  assert.deepEqual(spoolUrl('file:/var/lib/postern/spool.db'), {
    file: '/var/lib/postern/spool.db',
    maxBytes,
  })
  assert.deepEqual(spoolUrl('file:///var/lib/spool.db'), { file: '/var/lib/spool.db', maxBytes })
  assert.deepEqual(spoolUrl('file:data/spool.db'), { file: resolve('data/spool.db'), maxBytes })
  assert.deepEqual(spoolUrl('file:/spool.db?max_bytes=1073741824'), {
    file: '/spool.db',
    maxBytes: gibibyte,
  })
})

test('a URL of NATS names the example', () => {
  for (const url of ['nats://one:4222', 'tls://user:swordfish@one?replicas=1'])
    assert.throws(() => spoolUrl(url), /^Error: NATS is not built in: copy examples\/spool-nats/)
})

test('rejects invalid settings without showing secrets', () => {
  const rejected = [
    'file:',
    'file:/var/lib/postern/',
    'file://host/spool.db',
    'file:/spool.db?max_bytes=5',
    'file:/spool.db?max_bytes=much',
    'file:/spool.db?size=swordfish',
    '/var/lib/postern/spool.db',
    'redis://user:swordfish@host',
    'nats://user:swordfish@one',
  ]
  for (const url of rejected)
    assert.throws(
      () => spoolUrl(url),
      (error: Error) => !error.message.includes('swordfish'),
      url,
    )
})
