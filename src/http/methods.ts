import type { RouteOptions } from 'fastify'

/** Which methods an address knows, so that a wrong one is answered with 405 and Allow, and not with 404. */
export class RouteMethods {
  readonly #routes: { url: string; pattern: RegExp; methods: string[] }[] = []

  add(route: RouteOptions): void {
    const pattern = route.url
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[^/]+/g, '[^/]+')
      .replaceAll('\\*', '.*')
    this.#routes.push({ url: route.url, pattern: new RegExp(`^${pattern}$`), methods: [route.method].flat() })
  }

  /** Every declared route, as `GET /users`. */
  all(): string[] {
    return this.#routes.flatMap(({ url, methods }) => methods.map((method) => `${method} ${url}`))
  }

  /**
   * The methods of the routes that match a request's path, sorted; none when nothing does. An address that is written out
   * in a route is that route's alone: `/auth/logout` is not the provider `logout`.
   */
  allowedFor(url: string): string[] {
    const path = url.split('?', 1)[0]!
    const matching = this.#routes.filter(({ pattern }) => pattern.test(path))
    const exact = matching.filter((route) => route.url === path)
    const found = (exact.length > 0 ? exact : matching).flatMap(({ methods }) => methods)
    return [...new Set(found)].toSorted()
  }
}
