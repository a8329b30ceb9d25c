import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { Problem } from '../../errors.ts'
import type { App } from '../app.ts'
import { framingFault } from '../connections/client-errors.ts'
import { type RawAnswer, RawCall, type RawParts } from './call.ts'

declare module 'fastify' {
  interface FastifyInstance {
    raw: RawRoutes
  }
}

declare module 'http' {
  interface IncomingMessage {
    /** The request target as it came, if the base path was removed from it. Express sets the same property. */
    originalUrl?: string
  }
}

export interface RawRoute {
  method: 'GET' | 'OPTIONS' | 'POST'
  path: string
  /** Whether the path may end with a slash. */
  withSlash?: true
  /** For the OpenAPI description. */
  schema: FastifySchema
  sends?: FastifyContextConfig['sends']
  uncounted?: FastifyContextConfig['uncounted']
  /** Answers a request, or throws the error that the problem in the answer describes. */
  answer: (call: RawCall) => RawAnswer | Promise<RawAnswer>
}

/** A raw route for all methods, at a path and below it. The framework's description names GET and the path itself. */
type RawTree = Omit<RawRoute, 'method'>

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Routes that are called so often that the framework's cost for each request matters. Such a route answers all requests for
 * its method and path on Node's request and response, errors included. The framework has only its description. All other
 * requests go to the framework, also those for the path with another method. Targets are read without the base path.
 *
 * Keep in step with the hooks of the framework: connections/closing.ts, connections/client-errors.ts, limits/rate-limits.ts (`takeRaw`),
 * response-headers.ts (`common`), problem-details.ts (error handler) and create-app.ts (`logRequests`).
 */
export class RawRoutes {
  readonly #app: App
  readonly #parts: RawParts
  readonly #trees: { path: string; listener: Listener }[] = []
  /** By method and path. */
  readonly #routes = new Map(
    ['GET', 'OPTIONS', 'POST'].map((method) => [method, new Map<string, Listener>()]),
  )
  /** Match targets whose paths may end with a slash, without it as their first group. */
  readonly #slashes: RegExp[] = []

  constructor(app: App, parts: RawParts) {
    this.#app = app
    this.#parts = parts
    const { server } = app
    // Fastify's listener is last because all ours are prepended.
    const framework = server.listeners('request').at(-1) as RequestListener
    server.removeListener('request', framework)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (parts.basePath !== '') removeBasePath(request, parts.basePath)
      const answer = this.#find(request)
      if (answer) return answer(request, response)
      for (const slash of this.#slashes) request.url = request.url!.replace(slash, '$1')
      framework(request, response)
    })
  }

  /**
   * Lets clients end the paths of the framework's routes below `path` with a slash as well. A second route for each would take as long
   * to declare as the first.
   * @param path letters, digits and slashes, with a slash at its end
   */
  ignoreLastSlash(path: string): void {
    this.#slashes.push(new RegExp(`^((?:https?://[^/]*)?${path}[^?#]+)/(?=[?#]|$)`))
  }

  add(route: RawRoute): void {
    const listener = this.#listen(route)
    const routes = this.#routes.get(route.method)!
    routes.set(route.path, listener)
    if (route.withSlash) routes.set(`${route.path}/`, listener)
    this.#describe(route)
  }

  addTree(tree: RawTree): void {
    this.#trees.push({ path: tree.path, listener: this.#listen(tree) })
    this.#describe({ ...tree, method: 'GET' })
  }

  #listen({ path, answer }: RawTree): Listener {
    return (request, response) => this.#answer(new RawCall(this.#parts, path, request, response), answer)
  }

  #describe({ method, path, schema, sends, uncounted }: Omit<RawRoute, 'answer'>): void {
    this.#app.route({
      method,
      url: path,
      schema,
      config: {
        access: 'public',
        quiet: true,
        forMachines: true,
        ...(sends && { sends }),
        ...(uncounted && { uncounted }),
      },
      handler: async () => {
        throw new Problem('not-found')
      },
    })
  }

  #find({ method = '', url = '' }: IncomingMessage): Listener | undefined {
    const routes = this.#routes.get(method === 'HEAD' ? 'GET' : method)
    const exact = routes?.get(url)
    if (exact) return exact
    for (const { path, listener } of this.#trees) if (isBelow(path, url)) return listener
    return routes?.get(pathOf(url))
  }

  #answer(call: RawCall, answer: RawRoute['answer']): void {
    try {
      const refused = this.#app.outage.problem
      if (refused) throw refused
      const fault = framingFault(call.request)
      if (fault !== undefined) {
        call.closeConnection()
        throw new Problem('bad-request', { detail: fault })
      }
      const answered = answer(call)
      if (answered instanceof Promise) void finish(call, answered)
      else call.send(answered)
    } catch (error) {
      call.fail(error)
    }
  }
}

async function finish(call: RawCall, answered: Promise<RawAnswer>): Promise<void> {
  try {
    call.send(await answered)
  } catch (error) {
    call.fail(error)
  }
}

/** Whether a request target is the base path or below it. */
export function isBelow(basePath: string, target: string): boolean {
  return target.startsWith(basePath) && /^[/?]?$/.test(target.charAt(basePath.length))
}

/** Removes the base path from a request target. A target without it is served too, so that probes can call the service directly. */
function removeBasePath(request: IncomingMessage, basePath: string): void {
  const target = request.url ?? ''
  if (!isBelow(basePath, target)) return
  const rest = target.slice(basePath.length)
  request.originalUrl = target
  request.url = rest.startsWith('/') ? rest : `/${rest}`
}

/** The path of a request target (RFC 9112, section 3.2), decoded as the framework's router decodes it. */
function pathOf(target: string): string {
  const [path = ''] = target.replace(/^https?:\/\/.*?\//, '/').split(/[?#]/, 1)
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}
