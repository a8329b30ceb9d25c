// Two requests that are answered with a redirect and a cookie, on Fastify, with nothing done for them. Tells what it took.
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import { answer, ready } from '../harness/child-process.ts'

const app = Fastify()
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
