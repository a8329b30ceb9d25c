import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../runtime/clock.ts'
import type { Scheme } from '../receiving/schemes/scheme.ts'
import { standardWebhooks } from '../receiving/schemes/standard-webhooks.ts'
import { printable } from '../telemetry/printable.ts'
import { CommandFailure, UsageFailure } from './command-failure.ts'
import { print } from './output.ts'
import { causeInWords } from '../runtime/cause-in-words.ts'
import { serviceClient } from './service-client.ts'

interface ListenOptions {
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
  let scheme: Scheme | undefined
  const server = createServer((request, response) => {
    answer(request, () => scheme).then(
      ({ status, line, value }) => {
        response.writeHead(status, status === 204 ? {} : { connection: 'close' }).end()
        const at = new Date().toISOString()
        print({ at, status, ...value }, `${at}  ${line}\n`)
      },
      // The connection broke.
      () => response.destroy(),
    )
  })
  const address = await open(server, options.port)
  try {
    const register = (): Promise<() => Promise<void>> =>
      subscribe(address, options, (given) => (scheme = schemeOf(given)))
    if (options.secret !== undefined) scheme = schemeOf(options.secret)
    const leave = options.secret === undefined ? await register() : undefined
    process.stderr.write(
      `listening on ${address}${leave ? ', registered as an endpoint' : ''}; press Ctrl-C to stop\n`,
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
  if (!(port <= 65_535)) throw new UsageFailure(`--port takes a number up to 65535, not ${text}`)
  try {
    await new Promise<void>((resolve, reject) =>
      server.once('error', reject).listen(port, '127.0.0.1', resolve),
    )
  } catch (error) {
    throw new CommandFailure(`Cannot listen on port ${port} (${causeInWords(error)}): use another --port.`)
  }
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Registers the receiver; the returned function takes it out again. */
async function subscribe(
  address: string,
  options: ListenOptions,
  onSecret: (secret: string) => void,
): Promise<() => Promise<void>> {
  const { hasKey, request, read } = serviceClient(options)
  if (!hasKey) throw new CommandFailure('The API key is missing: pass --key, or set ADMIN_API_KEY.')
  const subscriber = {
    url: address,
    description: 'postern listen',
    eventTypes: (options.types ?? '*').split(','),
  }
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(subscriber),
  }
  const { id, secret } = await read<{ id: string; secret: string }>('/subscribers', {}, init)
  onSecret(secret)
  return async () => {
    await request(`/subscribers/${id}`, { method: 'DELETE' })
  }
}

function schemeOf(secret: string): Scheme {
  try {
    return standardWebhooks({ secret })
  } catch (error) {
    throw new UsageFailure(`--secret: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Returns the response to a request, and what is printed about it: a line, in which the sender's text is escaped, and a value for `--json`.
 * Anybody on this machine, and any page in its browsers, can send here: only what is verified is shown.
 */
async function answer(request: IncomingMessage, scheme: () => Scheme | undefined) {
  const { method = '', headers } = request
  // Browsers send these with each request to another site, and servers send none of them.
  const fromPage = headers.origin ?? headers['sec-fetch-site']
  if (fromPage !== undefined) return refused(403, `it comes from a page in a browser (${fromPage})`)
  if (method !== 'POST') return refused(405, `a webhook is a POST, and this is a ${method}`)
  const rawBody = await read(request)
  if (!rawBody) return refused(413, 'the body is larger than 1 MiB')
  const verdict = scheme()?.verify({ rawBody, headers, now: systemClock.now() })
  if (!verdict) return refused(401, 'the secret is not known yet')
  if ('rejected' in verdict) return refused(401, verdict.detail)
  const { 'webhook-id': id, 'webhook-timestamp': at } = headers
  const head = printable(`verified  ${String(id)}  signed at ${String(at)}`)
  const body = rawBody.toString('utf8')
  return { status: 204, line: `${head}\n${printable(body)}`, value: { verified: true, id, body } }
}

function refused(status: number, why: string) {
  const line = printable(`NOT VERIFIED, rejected with ${status}: ${why}`).slice(0, 300)
  return { status, line, value: { verified: false, reason: why.slice(0, 300) } }
}

/** The body, unless it is too large. */
async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bodyLimit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
