import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { scoped } from './scoped.ts'

/** Lets a server listen on a free port of the loopback, or on this one. To close it ends its connections, too. */
export async function listening(server: Server, on = 0) {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // A service opens hundreds of connections at once. The kernel drops those that do not fit, and may deliver them a minute later.
  server.listen({ port: on, host: '127.0.0.1', backlog: 4_096 })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return scoped({
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        for (const socket of sockets) socket.destroy()
      }),
  })
}
