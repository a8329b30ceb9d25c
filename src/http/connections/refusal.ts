import type { FastifyInstance } from 'fastify'
import type { Problem } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    outage: ServiceOutage
  }
}

/** Paths that are still answered: probes of the process itself. */
const answered = new Set(['/healthz', '/readyz'])

/** Answers all calls with the same problem, from `begin` on. */
export class ServiceOutage {
  #problem: Problem | undefined

  constructor(app: FastifyInstance) {
    app.addHook('onRequest', async ({ routeOptions }) => {
      if (this.#problem && !answered.has(routeOptions.url ?? '')) throw this.#problem
    })
  }

  get problem(): Problem | undefined {
    return this.#problem
  }

  start(problem: Problem): void {
    this.#problem = problem
  }
}
