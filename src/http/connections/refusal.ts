import type { FastifyInstance } from 'fastify'
import type { Problem } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    refusal: Refusal
  }
}

/** What is answered all the same: questions about the process itself. */
const answered = new Set(['/healthz', '/readyz'])

/** From a moment on, the process answers all calls with the same problem. */
export class Refusal {
  #problem: Problem | undefined

  constructor(app: FastifyInstance) {
    app.addHook('onRequest', async ({ routeOptions }) => {
      if (this.#problem && !answered.has(routeOptions.url ?? '')) throw this.#problem
    })
  }

  get problem(): Problem | undefined {
    return this.#problem
  }

  begin(problem: Problem): void {
    this.#problem = problem
  }
}
