import { defaultBodyLimit } from '../http/body/reader.ts'
import type { App } from '../http/app.ts'

/** An address inside the service that answers each call with the same status. It reads nothing and changes nothing. */
export interface Sink {
  path: string
  status: number
}

/** Declares sinks: what demo mode sends by itself stays on this machine. Their answers are not logged: the deliveries are. */
export async function sinkRoutes(app: App, sinks: readonly Sink[]): Promise<void> {
  await app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers()
    scope.bodies.parse(scope, ['*'], (_request, bytes, done) => done(null, bytes), defaultBodyLimit)
    for (const { path, status } of sinks)
      scope.post(
        path,
        { config: { access: 'public' }, logLevel: 'warn', schema: { hide: true } },
        async (_request, reply) => reply.code(status).send(),
      )
  })
}
