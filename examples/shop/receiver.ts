// A customer's receiver: node receiver.ts SECRET
import { createServer, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from 'postern-client/webhooks'

const [, , secret = ''] = process.argv

async function receive(request: IncomingMessage): Promise<number> {
  try {
    const event = await verifyWebhook(await buffer(request), request, secret)
    console.log('verified', event.id, event.type, JSON.stringify(event.data))
    return 204
  } catch (error) {
    console.log('rejected:', (error as Error).message)
    return 401
  }
}

createServer((request, response) => {
  void receive(request).then((status) => response.writeHead(status).end())
}).listen(4400, '127.0.0.1')
