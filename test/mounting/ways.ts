// The ways to mount the service, each as a program that has routes of its own.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import Fastify, { type FastifyInstance } from 'fastify'
import { createHandler, postern, type MountOptions } from '../../src/index.ts'

export interface Mounted {
  /** The address of the service. */
  url: string
  fetch(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

export type Way = (options: MountOptions) => Promise<Mounted>

const prefix = '/gate'

/** An application with a parser, an error handler and hooks of its own. */
export async function fastifyApp(options: MountOptions): Promise<FastifyInstance> {
  const app = Fastify()
  app.addHook('onSend', async (_request, reply) => void reply.header('x-own', 'yes'))
  app.setErrorHandler((error, _request, reply) => reply.code(418).send({ own: (error as Error).message }))
  app.post('/own', async ({ body }) => ({ body }))
  app.get('/own/error', async () => {
    throw new Error('of the application')
  })
  await app.register(postern, options)
  return app
}

export const fastify: Way = async (options) => {
  const app = await fastifyApp({ ...options, prefix })
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}${prefix}`
  return { url, fetch: (path, init) => fetch(url + path, manual(init)), close: () => app.close() }
}

/** Node's server, and API routes of Next.js, which get the same request and response. */
export const nodeServer: Way = async (options) => {
  const gate = await createHandler({ ...options, prefix })
  return listen(
    createServer((request, response) => gate(request, response, () => response.writeHead(404).end('own'))),
    prefix,
    gate.close,
  )
}

/** `app.use('/gate', handler)` of Express, which shortens the address and keeps the original one. */
export const mountPath: Way = async (options) => {
  const gate = await createHandler({ ...options, prefix })
  const server = createServer((request, response) => {
    const { url = '' } = request
    gate(Object.assign(request, { originalUrl: url, url: url.slice(prefix.length) || '/' }), response)
  })
  return listen(server, prefix, gate.close)
}

export const inExpress: Way = async (options) => {
  const app = express()
  const gate = await createHandler({ ...options, prefix })
  app.use(prefix, gate)
  app.use(express.json())
  return listen(createServer(app), prefix, gate.close)
}

/** A route file of Next.js' app router: `export const { GET, POST } = …` with requests and responses of the web standards. */
export const routeFile: Way = async (options) => {
  const gate = await createHandler({ ...options, prefix })
  const url = `${options.env!['BASE_URL'] ?? 'http://127.0.0.1:3000'}${prefix}`
  const routes: Record<string, (request: Request) => Promise<Response>> = {
    GET: gate.fetch,
    POST: gate.fetch,
  }
  return {
    url,
    fetch: (path, init = {}) => routes[init.method ?? 'GET']!(new Request(url + path, manual(init))),
    close: gate.close,
  }
}

export async function listen(server: Server, path: string, close: () => Promise<void>): Promise<Mounted> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  return {
    url,
    fetch: (rest, init) => fetch(url + rest, manual(init)),
    async close() {
      server.close()
      server.closeAllConnections()
      await close()
    },
  }
}

const manual = (init: RequestInit = {}): RequestInit => ({ ...init, redirect: 'manual' })
