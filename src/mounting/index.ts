import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MountOptions } from './mount.ts'

export type { MountOptions }

/** Answers requests: for Node's `createServer`, for `app.use` of Express, and for API routes of Next.js. */
export interface RequestHandler {
  /** Calls `next`, if it is given, for paths that are not below the prefix. */
  (request: IncomingMessage, response: ServerResponse, next?: () => void): void
  /** The same for web standard requests, such as those of Next.js' route files. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Ends the live connections of pages, waits for the answers in progress, ends the workers and closes the database, within about ten
   * seconds. Before it, let the server accept no more requests, and do not wait until it has closed: a page that is open keeps its
   * live connection until this call.
   */
  readonly close: () => Promise<void>
}

/** What the plugin uses of a Fastify application, of any version from 4 on. */
interface FastifyScope {
  readonly prefix: string
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    parse: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown
  all(path: string, handle: (request: RawRequest, reply: RawReply) => void): unknown
  addHook(name: 'preClose' | 'onClose', hook: () => Promise<void>): unknown
}
type RawRequest = { readonly raw: IncomingMessage }
type RawReply = { readonly raw: ServerResponse; hijack(): unknown }

/**
 * Starts the service and gives its handler.
 * @throws ConfigurationError that names everything that is missing or wrong
 */
export async function createHandler(options: MountOptions = {}): Promise<RequestHandler> {
  const { mount } = await import('./mount.ts')
  const { handle, fetch, close } = await mount(options)
  return Object.assign(handle, { fetch, close })
}

/**
 * The service as a plugin: `await app.register(postern, { ...config, prefix: '/gate' })`. It ends when the application closes. Without a
 * prefix it answers all requests that no route of the application takes.
 * @throws ConfigurationError that names everything that is missing or wrong
 */
export async function postern(app: FastifyScope, options: MountOptions): Promise<void> {
  const { mount } = await import('./mount.ts')
  const { handle, announceStop, close } = await mount({ ...options, prefix: app.prefix })
  app.removeAllContentTypeParsers()
  // The service reads the bodies itself: signatures are made of the bytes.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // Without a prefix, `/*` is also `/`, and the program's own page there stays possible.
  for (const path of app.prefix === '' ? ['/*'] : ['/', '/*'])
    app.all(path, (request, reply) => {
      reply.hijack()
      handle(request.raw, reply.raw)
    })
  app.addHook('preClose', async () => announceStop())
  app.addHook('onClose', close)
}
