// Requests that are answered on Fastify with nothing done for them: 204, and a redirect with a cookie. Tells what they took.
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import { answer, ready } from '../harness/child-process.ts'

const app = Fastify()
app.get('/auth/forward', async (_request, reply) => reply.code(204).send())
for (const [path, next] of [
  ['/begin', '/end'],
  ['/end', '/'],
] as const) {
  app.get(path, async (_request, reply) =>
    reply.header('set-cookie', `flow=${path}; Path=/; HttpOnly; SameSite=Lax`).redirect(next, 302),
  )
}

answer(() => process.cpuUsage())
await app.listen({ port: 0, host: '127.0.0.1' })
ready({ port: (app.server.address() as AddressInfo).port })
