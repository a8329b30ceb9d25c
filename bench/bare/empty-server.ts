// 204 on Fastify, with nothing done for it. Tells what it took.
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import { answer, ready } from '../harness/child-process.ts'

const app = Fastify()
app.get('/auth/forward', async (_request, reply) => reply.code(204).send())
answer(() => process.cpuUsage())
await app.listen({ port: 0, host: '127.0.0.1' })
ready({ port: (app.server.address() as AddressInfo).port })
