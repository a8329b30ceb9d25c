// What a webhook receiver cannot do without, and no more: the HMAC of the raw bytes, compared in constant time, JSON, 200.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ready } from '../harness/child-process.ts'
import { webhookSecret } from '../load/sample.ts'

const accepted = JSON.stringify({ received: true })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    const expected = createHmac('sha256', webhookSecret).update(body).digest()
    const sent = Buffer.from(String(request.headers['x-signature']), 'hex')
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
      response.writeHead(401, { 'content-type': 'text/plain' }).end('invalid signature')
      return
    }
    const { id, type } = JSON.parse(body.toString()) as { id?: string; type?: string }
    if (!id || !type) response.writeHead(400).end()
    else
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': accepted.length })
        .end(accepted)
  })
})
server.listen(0, '127.0.0.1', () => ready({ port: (server.address() as AddressInfo).port }))
