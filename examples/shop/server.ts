import { createReadStream } from 'node:fs'
import Fastify from 'fastify'
import { postern } from 'postern'
import { createPostern } from 'postern-client'
import { createClient } from 'postern-client/api'
import { requireUser, sessionOf } from 'postern-client/fastify'
import config from './postern.config.ts'

const port = Number(process.env['PORT'] ?? 3000)
const url = `http://127.0.0.1:${port}`
const sessions = createPostern({ url })
const client = createClient({ url, token: process.env['SHOP_KEY'] ?? '' })

const shop = Fastify()
shop.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(createReadStream('shop.html')))
shop.post('/portal-link', { onRequest: requireUser(sessions) }, (request) =>
  client.post('/portal-links', { body: { owner: sessionOf(request).user.id } }),
)
// Postern handles everything else.
await shop.register(postern, { ...config, migrations: 'migrations' })
await shop.listen({ port, host: '127.0.0.1' })
console.log(`The shop is open: ${url}`)

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void shop.close())
