import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Viewer } from './hub.ts'

test('a viewer that does not read is disconnected, and keeps a bounded number of bytes', async () => {
  const viewer = new Viewer({ person: 'somebody', credential: '', isAllowed: async () => true })
  viewer.stream.on('error', () => undefined)
  const message = Buffer.alloc(10_000)
  let most = 0
  for (let count = 0; count < 100; count += 1) {
    viewer.send(message)
    most = Math.max(most, viewer.stream.readableLength)
  }
  assert.ok(viewer.stream.destroyed)
  assert.ok(most <= 256 * 1024 + message.length, String(most))
})

test('a viewer that has ended is sent nothing more', async () => {
  const viewer = new Viewer({ person: 'somebody', credential: '', isAllowed: async () => true })
  viewer.send(Buffer.from('one'))
  viewer.end()
  viewer.send(Buffer.from('two'))
  viewer.end()
  assert.equal(Buffer.concat(await viewer.stream.toArray()).toString(), 'one')
})
