import type { FastifyInstance } from 'fastify'
import { Problem } from '../../errors.ts'

/**
 * Answers with 404 if a parameter of the path contains U+0000: PostgreSQL refuses it as a value, and no id or name contains one. A
 * path cannot contain a lone surrogate, because its percent sequences must be UTF-8. Callers without access are refused before.
 */
export function refuseUnstorablePaths(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    for (const value of Object.values(request.params as Record<string, string>))
      if (value.includes('\0')) return done(new Problem('not-found') as never)
    done()
  })
}
