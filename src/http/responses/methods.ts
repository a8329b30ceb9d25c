import type { RouteOptions } from 'fastify'

interface Known {
  url: string
  pattern: RegExp
  methods: string[]
  forMachines: boolean
}

/** The methods of each path, for 405 with Allow instead of 404. */
export class RouteMethods {
  readonly #routes: Known[] = []

  add(route: RouteOptions): void {
    const pattern = route.url
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[^/]+/g, '[^/]+')
      .replaceAll('\\*', '.*')
    this.#routes.push({
      url: route.url,
      pattern: new RegExp(`^${pattern}$`),
      methods: [route.method].flat(),
      forMachines: route.config?.forMachines === true,
    })
  }

  /** Every declared route, as `GET /users`. */
  all(): string[] {
    return this.#routes.flatMap(({ url, methods }) => methods.map((method) => `${method} ${url}`))
  }

  /**
   * The methods of the routes that match a request's path, sorted. A literal path takes precedence over parameters:
   * `/auth/logout` is not the provider `logout`.
   */
  allowedFor(url: string): string[] {
    return namesOf(this.#matching(url))
  }

  /** The same, without routes for machines. */
  forPages(url: string): string[] {
    return namesOf(this.#matching(url).filter(({ forMachines }) => !forMachines))
  }

  #matching(url: string): Known[] {
    const path = url.split('?', 1)[0]!
    const matching = this.#routes.filter(({ pattern }) => pattern.test(path))
    const exact = matching.filter((route) => route.url === path)
    return exact.length > 0 ? exact : matching
  }
}

function namesOf(routes: readonly Known[]): string[] {
  return [...new Set(routes.flatMap(({ methods }) => methods))].toSorted()
}
