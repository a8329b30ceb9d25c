import type { App } from '../app.ts'

/** What pages of other origins may send to a path. */
interface PreflightAnswer {
  /** As in `Access-Control-Allow-Methods`. */
  methods: string
  /** As in `Access-Control-Allow-Headers`. `*` has no effect on `Authorization`. */
  headers: string
  /** The origin that is allowed; `undefined` if a hook of the routes says it. */
  origin?: '*'
}

/** Seconds for which a browser caches the answer. */
const maxAge = 600

/** Answers the preflights of a path whose routes have `ownOrigins` (https://fetch.spec.whatwg.org/#cors-preflight-fetch). */
export function preflightRoute(
  routes: App,
  path: string,
  { methods, headers, origin }: PreflightAnswer,
): void {
  routes.options(
    path,
    { config: { access: 'public', ownOrigins: true }, schema: { hide: true } },
    async (_request, reply) =>
      reply
        .headers({
          ...(origin !== undefined && { 'access-control-allow-origin': origin }),
          'access-control-allow-methods': methods,
          'access-control-allow-headers': headers,
          'access-control-max-age': String(maxAge),
        })
        .code(204)
        .send(),
  )
}
