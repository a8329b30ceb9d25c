import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../clock.ts'
import { standardWebhooks } from '../receiving/schemes/standard-webhooks.ts'
import { call } from './call.ts'
import { CommandFailure } from './command-failure.ts'
import { causeInWords } from './describe-error.ts'
import { readClientSettings } from './settings.ts'

export interface ListenOptions {
  port: string
  secret?: string
  url?: string
  key?: string
  types?: string
}

const bodyLimit = 1024 * 1024

/**
 * A receiver on this machine that verifies and prints what a subscriber gets. Without `--secret` it registers itself as
 * a subscriber of a Postern for as long as it runs.
 */
export async function listen(options: ListenOptions): Promise<void> {
  let secret = options.secret
  const server = createServer((request, response) => {
    read(request).then(
      (body) => {
        const verdict = verify(secret ?? '', request, body)
        response.writeHead(verdict === 'verified' ? 204 : 401).end()
        const { 'webhook-id': id, 'webhook-timestamp': at } = request.headers
        process.stdout.write(
          `${new Date().toISOString()}  ${verdict}  ${String(id)}  signed at ${String(at)}\n${body.toString('utf8')}\n`,
        )
      },
      (error: unknown) => response.writeHead(413).end(String(error)),
    )
  })
  const address = await open(server, options.port)
  try {
    const leave =
      secret === undefined ? await subscribe(address, options, (given) => (secret = given)) : undefined
    process.stderr.write(
      `listening on ${address}${leave ? ', registered as a subscriber' : ''}; Ctrl-C ends it\n`,
    )
    await new Promise<void>((resolve) => {
      process.once('SIGINT', resolve)
      process.once('SIGTERM', resolve)
    })
    await leave?.()
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

async function open(server: Server, text: string): Promise<string> {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new CommandFailure(`--port takes a number up to 65535, not ${text}`)
  try {
    await new Promise<void>((resolve, reject) =>
      server.once('error', reject).listen(port, '127.0.0.1', resolve),
    )
  } catch (error) {
    throw new CommandFailure(
      `Port ${port} cannot be listened on (${causeInWords(error)}): give another --port.`,
    )
  }
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Registers the receiver; the returned function takes it out again. */
async function subscribe(
  address: string,
  options: ListenOptions,
  onSecret: (secret: string) => void,
): Promise<() => Promise<void>> {
  const settings = readClientSettings()
  const service = options.url ?? settings.service
  const key = options.key ?? settings.adminApiKey
  if (!key) throw new CommandFailure('The API key is missing: give --key, or set ADMIN_API_KEY.')
  if (!URL.canParse(service)) throw new CommandFailure(`--url ${service} is not an address`)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const subscriber = {
    url: address,
    description: 'postern listen',
    eventTypes: (options.types ?? '*').split(','),
  }
  const response = await call(new URL('/subscribers', service), {
    method: 'POST',
    headers,
    body: JSON.stringify(subscriber),
  })
  if (!response.ok)
    throw new CommandFailure(
      `${service} did not register the receiver: ${response.status} ${await response.text()}`,
    )
  const { id, secret } = (await response.json()) as { id: string; secret: string }
  onSecret(secret)
  return async () => {
    await call(new URL(`/subscribers/${id}`, service), {
      method: 'DELETE',
      headers: { authorization: headers.authorization },
    })
  }
}

function verify(secret: string, request: IncomingMessage, rawBody: Buffer): string {
  const verdict = standardWebhooks({ secret }).verify({
    rawBody,
    headers: request.headers,
    now: systemClock.now(),
  })
  return 'rejected' in verdict ? `NOT VERIFIED (${JSON.stringify(verdict)})` : 'verified'
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bodyLimit) throw new Error('the body is larger than 1 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
