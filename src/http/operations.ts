import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Configuration } from '../config/environment.ts'
import { Problem, problems, type ProblemCode } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { App } from './app.ts'
import type { Worker } from './room.ts'

export interface OperationsParts {
  database: Database
  metrics: Metrics
  workers: readonly Worker[]
  clock: Clock
  configuration: Configuration
}

/** Due work older than this, in seconds, means that workers stall: not ready. */
const stalledAfter = 120

/** The calls that watch the service: health, readiness, metrics, the OpenAPI document, the reference of problems. */
export function operations(app: App, parts: OperationsParts): void {
  const { database, metrics, workers, clock } = parts
  const tags = ['operations']

  const oldestDue = async (worker: Worker): Promise<number> => {
    const due = await worker.oldestDue?.()
    return due === undefined ? 0 : Math.max(0, (clock.now() - due) / 1000)
  }
  metrics.gauge(
    'postern_oldest_due_seconds',
    'Age of the oldest work that is due and not done, by worker',
    ['worker'],
    async (gauge) => {
      for (const worker of workers)
        if (worker.oldestDue) gauge.set({ worker: worker.name }, await oldestDue(worker))
    },
  )

  metrics.gauge('postern_bodies_reading', 'Request bodies that are being read', [], (gauge) =>
    gauge.set(app.bodies.budget.bodies),
  )
  metrics.gauge(
    'postern_bodies_reading_bytes',
    'Bytes held for bodies that have not come whole',
    [],
    (gauge) => gauge.set(app.bodies.budget.bytes),
  )

  app.get(
    '/healthz',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'Whether the process runs',
        response: { 200: Type.Object({ status: Type.Literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  const Readiness = Type.Object({
    status: Type.String(),
    database: Type.String(),
    oldestDueSeconds: Type.Record(Type.String(), Type.Number(), {
      description: 'Age of the oldest due work by worker',
    }),
  })
  app.get(
    '/readyz',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'Whether it can serve: the database answers and workers keep up',
        response: { 200: Readiness, 503: Readiness },
      },
    },
    async (_request, reply) => {
      const ages: Record<string, number> = {}
      try {
        await database.ping()
        for (const worker of workers) if (worker.oldestDue) ages[worker.name] = await oldestDue(worker)
      } catch {
        // The answer itself tells it; whoever uses the database logs why.
        return reply
          .code(503)
          .send({ status: 'unavailable', database: 'unavailable', oldestDueSeconds: ages })
      }
      const stalled = Object.values(ages).some((age) => age > stalledAfter)
      return reply
        .code(stalled ? 503 : 200)
        .send({ status: stalled ? 'stalled' : 'ready', database: 'ok', oldestDueSeconds: ages })
    },
  )

  app.get(
    '/metrics',
    {
      config: { access: 'admin', openInDemo: true },
      schema: {
        tags,
        summary: 'Metrics in the format of Prometheus',
        produces: ['text/plain'],
        response: { 200: Type.String() },
      },
    },
    async (_request, reply) =>
      reply.header('content-type', metrics.registry.contentType).send(await metrics.registry.metrics()),
  )

  let document: string | undefined
  app.get(
    '/openapi.json',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'This description',
        response: { 200: Type.Object({}, { additionalProperties: true }) },
      },
    },
    async (_request, reply) => {
      document ??= JSON.stringify(app.swagger())
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .serializer((body: string) => body)
        .send(document as never)
    },
  )

  app.get(
    '/problems/:code',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'What a problem means and what to do',
        params: Type.Object({ code: Type.String() }),
        response: {
          200: Type.Object({
            code: Type.String(),
            status: Type.Integer(),
            title: Type.String(),
            advice: Type.String(),
          }),
        },
      },
    },
    async ({ params: { code } }) => {
      if (!Object.hasOwn(problems, code)) throw new Problem('not-found')
      const [status, title, advice] = problems[code as ProblemCode]
      return { code, status, title, advice }
    },
  )
}
