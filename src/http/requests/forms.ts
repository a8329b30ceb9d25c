import { Problem } from '../../errors.ts'
import type { App } from '../app.ts'
import { anonymousBodyLimit } from '../body/reader.ts'
import { readOAuthParameters } from './query-string.ts'

/** Bytes of the query of a redirect: with the other headers it must fit into the 16 KiB that the GET that follows may have. */
const longestQuery = 12 * 1024

/** Declares routes that take forms, whose fields are strings. A repeated field is ambiguous, so such a form is rejected. */
export async function withForms(app: App, declare: (routes: App) => void): Promise<void> {
  await app.register(async (routes: App) => {
    routes.bodies.parse(
      routes,
      ['application/x-www-form-urlencoded'],
      (_request, bytes, done) => {
        try {
          const { values, repeated } = readOAuthParameters(bytes)
          const [name] = repeated
          if (name !== undefined)
            throw new Problem('bad-request', { detail: `The field ${name} came twice.` })
          done(null, values)
        } catch (error) {
          done(error as Error)
        }
      },
      anonymousBodyLimit,
    )
    declare(routes)
  })
}

/**
 * Returns the fields of a form as the query of a redirect to a GET, with which browsers send cookies.
 * @throws Problem `body-too-large` for a query that the GET could not have
 */
export function queryOf(fields: readonly (readonly [string, string])[]): string {
  const query = new URLSearchParams(fields.map(([name, value]) => [name, value])).toString()
  if (query.length > longestQuery)
    throw new Problem('body-too-large', {
      detail: `The fields are longer than ${longestQuery} bytes as a query.`,
    })
  return query
}
