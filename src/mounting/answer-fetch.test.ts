import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { answerFetch } from './mount.ts'

const url = 'http://gate.example/gate/events'

/** Answers a request by a server that does not listen; `closed` settles when the connection in memory has closed. */
function answerBy(listener: RequestListener, init: RequestInit) {
  const server = createServer(listener)
  const closed = new Promise<void>((done) => {
    server.once('connection', (socket: Duplex) => socket.once('close', done))
  })
  return { answer: answerFetch(server, new Request(url, init)), closed }
}

/** Answers with the headers and the body that the server received. */
const echo: RequestListener = (request, response) =>
  void text(request).then((body) => response.end(JSON.stringify({ headers: request.headers, body })))

interface Echo {
  headers: IncomingHttpHeaders
  body: string
}

describe('a request by fetch', () => {
  for (const connection of [undefined, 'keep-alive', 'Keep-Alive, x-hop', 'upgrade'])
    test(`with the header connection: ${connection} leaves no connection open`, async () => {
      const headers = {
        'x-kept': '1',
        ...(connection !== undefined && {
          connection,
          'keep-alive': 'timeout=60',
          upgrade: 'websocket',
          'x-hop': '1',
        }),
      }
      const { answer, closed } = answerBy(echo, { headers })
      const { headers: seen } = (await (await answer).json()) as Echo
      await closed
      assert.equal(seen.connection, 'close')
      assert.equal(seen['x-kept'], '1')
      assert.equal(seen['keep-alive'], undefined)
      assert.equal(seen.upgrade, undefined)
      assert.equal(seen['x-hop'], connection && '1', 'a caller cannot remove a header that a proxy has set')
    })

  for (const method of ['POST', 'DELETE'])
    test(`${method} with a body passes all of it, with and without its length`, async () => {
      const more = [
        {},
        { 'content-length': '5' },
        { connection: 'keep-alive', 'transfer-encoding': 'chunked' },
      ]
      for (const headers of more) {
        const { answer, closed } = answerBy(echo, { method, body: 'a\nb\nc', headers })
        const { body } = (await (await answer).json()) as Echo
        await closed
        assert.equal(body, 'a\nb\nc', JSON.stringify(headers))
      }
    })

  test('an answer before the end of the body leaves no connection open', async () => {
    const body = new ReadableStream({ pull: (control) => control.enqueue(Buffer.alloc(1_000)) })
    const init = { method: 'POST', body, duplex: 'half', headers: { connection: 'keep-alive' } } as const
    const { answer, closed } = answerBy((_request, response) => response.writeHead(413).end('no'), init)
    const response = await answer
    assert.equal(response.status, 413)
    assert.equal(await response.text(), 'no')
    await closed
  })

  test('an answer without a body leaves no connection open', async () => {
    const { answer, closed } = answerBy((_request, response) => response.writeHead(204).end(), {
      headers: { connection: 'keep-alive' },
    })
    assert.equal((await answer).status, 204)
    await closed
  })

  test('a reader that cancels the answer ends it at the server', async () => {
    const { answer, closed } = answerBy((_request, response) => void response.write('first'), {})
    const response = await answer
    await response.body!.cancel()
    await closed
  })
})
