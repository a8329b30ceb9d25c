import { Problem } from '../../errors.ts'
import type { App } from '../app.ts'
import { readOAuthParameters } from './query-string.ts'

/**
 * Declares routes that take forms, whose fields are strings. A repeated field is ambiguous, so such a form is refused.
 * @param bodyLimit bytes of a form; default: that of all bodies
 */
export async function withForms(app: App, declare: (routes: App) => void, bodyLimit?: number): Promise<void> {
  await app.register(async (routes: App) => {
    routes.bodies.parse(
      routes,
      ['application/x-www-form-urlencoded'],
      (_request, bytes, done) => {
        const { values, repeated } = readOAuthParameters(bytes.toString())
        const [name] = repeated
        if (name === undefined) done(null, values)
        else done(new Problem('bad-request', { detail: `The field ${name} came twice.` }))
      },
      bodyLimit,
    )
    declare(routes)
  })
}
