import type { TSchema } from 'typebox'
import type { Scope } from '../access/scopes.ts'

/** The options of a GET without parameters that tells administrators about the service. */
export const report = <A extends TSchema>(scope: Scope, summary: string, answer: A) => ({
  config: { access: { scope } },
  schema: { tags: ['operations'], summary, response: { 200: answer } },
})
