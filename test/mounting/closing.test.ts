// How a mounted service ends while requests are in progress.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { before, describe, test } from 'node:test'
import { engines, started } from '#test/harness/index.ts'
import { createHandler, type MountOptions } from '../../src/index.ts'
import { fastify, listen, type Mounted } from './ways.ts'

const key = 'pk_test_admin_key_0123456789'

/** A server that stops accepting, and a service that ends at the same time. */
async function together(options: MountOptions): Promise<Mounted> {
  const gate = await createHandler({ ...options, prefix: '/gate' })
  const server = createServer(gate)
  const mounted = await listen(server, '/gate', gate.close)
  return {
    ...mounted,
    async close() {
      const closed = once(server, 'close')
      server.close()
      await Promise.all([closed, gate.close()])
    },
  }
}

// On the last engine: a pool of PostgreSQL has most to close.
describe('the end of a mounted service', () => {
  let env: Record<string, string>
  const database = started(() => engines.at(-1)!.createMigratedDatabase())
  before(async () => {
    env = {
      DATABASE_URL: database.url,
      POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
      ADMIN_API_KEY: key,
      LOG_LEVEL: process.env['TEST_LOG'] ?? 'fatal',
    }
  })

  for (const [name, way] of [
    ['Fastify', (options: MountOptions) => fastify(options)],
    ["Node's http", together],
  ] as const)
    describe(name, () => {
      test('the live connection of a page ends with the service', async () => {
        const mounted = await way({ env })
        const { status, body } = await mounted.fetch('/live', {
          headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
        })
        assert.equal(status, 200)
        const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
        const read = async (): Promise<string> => (await reader.read()).value ?? ''
        let begun = ''
        while (!begun.includes('event: hello')) begun += await read()
        const closed = mounted.close()
        let rest = ''
        for (let part = await read(); part !== ''; part = await read()) rest += part
        await closed
        // One comes every 15 seconds.
        assert.doesNotMatch(rest, /: heartbeat/)
      })

      test('a request in progress is answered, and then the database closes', async () => {
        const mounted = await way({ env })
        let end!: () => void
        const body = new ReadableStream({
          start(control) {
            control.enqueue(Buffer.from('{"id":"last",'))
            end = () => {
              control.enqueue(Buffer.from('"category":"c","price":1,"stock":1,"name":"n"}'))
              control.close()
            }
          },
        })
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        const answer = mounted.fetch('/products', {
          method: 'POST',
          headers,
          body,
          duplex: 'half',
        })
        // The answer shows that the server has read what was sent before it.
        await (await mounted.fetch('/readyz')).arrayBuffer()
        const closed = mounted.close()
        setImmediate(end)
        const { status, headers: sent } = await answer
        await closed
        assert.ok(status === 201 || status === 409, String(status))
        assert.equal(sent.get('connection'), 'close')
      })
    })
})
