import { Type } from 'typebox'
import type { Clock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import { Problem, problems, type ProblemCode } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { App } from './app.ts'
import { docsAccess } from './openapi.ts'
import type { SpoolStatus } from './room.ts'
import type { Worker } from '../runtime/worker.ts'
import { SpoolReport, spoolReport } from './spool-report.ts'

export interface OperationsParts {
  database: Database
  metrics: Metrics
  workers: readonly Worker[]
  clock: Clock
  configuration: Configuration
  /** Where webhooks are kept while the database is away, if anywhere. */
  spool?: SpoolStatus | undefined
}

/** Seconds without a round of a worker with the database after which the process is not ready: it is to say so within 15 s. */
const noRoundFor = 10
/** Due work older than this, in seconds, means that workers stall: not ready. */
const stalledAfter = 120

const Readiness = Type.Object({
  status: Type.String(),
  database: Type.String(),
  oldestDueSeconds: Type.Record(Type.String(), Type.Number(), {
    description: 'Age of the oldest due work by worker',
  }),
  lastRoundSeconds: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: 'Since when each worker of this process has not got through a round with the database',
    }),
  ),
  spool: Type.Optional(SpoolReport),
})

/** The calls that watch the service: health, readiness, metrics, the OpenAPI document, the reference of problems. */
export function operations(app: App, parts: OperationsParts): void {
  const { database, metrics, workers, clock, configuration, spool } = parts
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
  const dropped = metrics.counter(
    'postern_bodies_dropped_total',
    'Request bodies that were dropped before they had come whole: slow ones, and those above the share of their network',
    ['reason'],
  )
  app.bodies.budget.noteDropped = (reason) => dropped.inc({ reason })

  app.get(
    '/healthz',
    {
      config: { access: 'public', quiet: true },
      schema: {
        tags,
        summary: 'Whether the process runs',
        response: { 200: Type.Object({ status: Type.Literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/readyz',
    {
      config: { access: 'public', quiet: true },
      schema: {
        tags,
        summary: 'Whether it can serve: the database answers, workers keep up, and the process does not stop',
        description:
          'With `for=webhooks`: whether received webhooks are acknowledged, which a spool (`SPOOL_URL`) lets it do while the database is away.',
        querystring: Type.Object({ for: Type.Optional(Type.Literal('webhooks')) }),
        response: { 200: Readiness, 503: Readiness },
      },
    },
    async ({ query }, reply) => {
      if (app.closing.begun)
        return reply.code(503).send({ status: 'stopping', database: 'not asked', oldestDueSeconds: {} })
      if (app.refusal.problem)
        return reply.code(503).send({ status: 'outdated', database: 'newer', oldestDueSeconds: {} })
      const spooled = spool && (await spoolReport(spool, clock))
      const report = { ...(spooled && { spool: spooled }) }
      if (query.for === 'webhooks' && spooled?.status === 'ok') {
        // Whatever becomes of the database: to ask it takes seconds when nothing answers.
        const status = spool?.away ? 'spooling' : 'ready'
        const state = spool?.away ? 'unavailable' : 'ok'
        return reply.code(200).send({ status, database: state, oldestDueSeconds: {}, ...report })
      }
      const ages: Record<string, number> = {}
      const rounds: Record<string, number> = {}
      for (const worker of workers) if (worker.sinceRound) rounds[worker.name] = worker.sinceRound() / 1000
      const all = {
        oldestDueSeconds: ages,
        ...(query.for === undefined && { lastRoundSeconds: rounds }),
        ...report,
      }
      try {
        await database.ping()
        if (query.for === undefined)
          for (const worker of workers) if (worker.oldestDue) ages[worker.name] = await oldestDue(worker)
      } catch {
        // The answer itself tells it; whoever uses the database logs why.
        return reply.code(503).send({ status: 'unavailable', database: 'unavailable', ...all })
      }
      const stalled =
        Object.values(ages).some((age) => age > stalledAfter) ||
        (query.for === undefined && Object.values(rounds).some((age) => age > noRoundFor))
      return reply.code(stalled ? 503 : 200).send({
        status: stalled ? 'stalled' : 'ready',
        database: 'ok',
        ...all,
      })
    },
  )

  app.get(
    '/metrics',
    {
      config: { access: { scope: 'operate' }, openInDemo: true, quiet: true },
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
      config: { access: docsAccess(configuration) },
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
