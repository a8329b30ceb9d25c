import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { listening } from './listening.ts'

/**
 * A proxy that tunnels to this machine, whatever the name, and remembers what for. @param answer it sends to each CONNECT instead
 * of a tunnel. Its other requests get an empty response, so that it can be what is behind it, too.
 */
export async function startConnectProxy(answer?: string) {
  const asked: { target: string; authorization: string | undefined }[] = []
  const server = createServer((_request, response) => response.end())
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push({ target: request.url ?? '', authorization: request.headers['proxy-authorization'] })
    client.on('error', () => undefined)
    client.write(answer ?? 'HTTP/1.1 200 OK\r\n\r\n')
    if (answer !== undefined) return
    const upstream = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1')
    upstream.on('error', () => client.destroy())
    client.once('close', () => upstream.destroy())
    client.pipe(upstream).pipe(client)
  })
  return { ...(await listening(server)), asked }
}
