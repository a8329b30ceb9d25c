import { Registry } from 'prom-client'
import { Type } from 'typebox'
import type { Configuration } from '../../config/environment.ts'
import { Problem, type ProblemCode, problems } from '../../errors.ts'
import { risingRefusals, spooledWebhooks, type HistoryStore } from '../../telemetry/history/store.ts'
import type { Recorder } from '../../telemetry/history/recorder.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type SettingsSource, shownSettings } from '../../config/shown-settings.ts'
import { closedObject, nullable, optionalText } from '../schemas/schemas.ts'
import { type App, route } from '../app.ts'
import { docsAccess } from '../schemas/openapi.ts'
import { type Checks, diagnosticsRoute, queuesRoute, report, versionRoute } from './reports.ts'
import type { FindAttention } from '../attention.ts'
import { attentionRoute, fillingDisks, type FindAllAttention, stalledWork } from './attention.ts'
import { type ChecklistParts, checklistRoute } from './checklist.ts'
import { historyRoute } from './history.ts'
import { oldestDue, Readiness, type ReadinessParts, readReadiness } from './readiness.ts'
import type { ModuleParts } from '../service-module.ts'

interface OperationsParts extends ReadinessParts, Pick<ModuleParts, 'metrics'> {
  history: HistoryStore
  recorder: Recorder
  /** What the modules find. */
  attention: readonly FindAttention[]
  checklist: Pick<ChecklistParts, 'baseUrl' | 'demoNames' | 'hasModule' | 'declaresLists'>
  settings: SettingsSource
  checks: Checks
}

const tags = ['operations']

/**
 * Declares the calls that watch the service: health, readiness, metrics, the OpenAPI document, the descriptions of problems,
 * queues, versions, settings and diagnostics.
 */
export function operations(app: App, parts: OperationsParts): { attention: FindAllAttention } {
  measureWorkers(parts)
  measureBodies(app, parts.metrics)
  healthRoute(app)
  readinessRoute(app, parts)
  metricsRoute(app, parts.metrics)
  historyRoute(app, parts)
  checklistRoute(app, { ...parts, ...parts.checklist, store: parts.history })
  const attention = attentionRoute(app, parts.clock, [
    () => stalledWork(parts),
    ...parts.attention,
    (now) => risingRefusals(parts.history, now),
    (now) => spooledWebhooks(parts.history, now),
    () => fillingDisks(parts.database, parts.configuration.spool),
  ])
  documentRoute(app, parts.configuration)
  problemRoute(app)
  queuesRoute(app, parts)
  versionRoute(app, parts.database, parts.clock.now())
  settingsRoute(app, parts.settings)
  diagnosticsRoute(app, parts.checks, parts.clock)
  return { attention }
}

function measureWorkers({ metrics, workers, clock }: OperationsParts): void {
  metrics.gauge(
    'postern_oldest_due_seconds',
    'Age of the oldest work that is due and not done, by worker',
    ['worker'],
    async (gauge) => {
      for (const worker of workers)
        if (worker.oldestDue) gauge.set({ worker: worker.name }, await oldestDue(worker, clock))
    },
  )
}

function measureBodies({ bodies: { budget } }: App, metrics: Metrics): void {
  metrics.gauge('postern_bodies_reading', 'Request bodies that are being read', [], (gauge) =>
    gauge.set(budget.bodies),
  )
  metrics.gauge('postern_bodies_reading_bytes', 'Bytes held for incomplete request bodies', [], (gauge) =>
    gauge.set(budget.bytes),
  )
  const dropped = metrics.counter(
    'postern_bodies_dropped_total',
    'Request bodies dropped before they were complete: slow ones, and those above the share of their network',
    ['reason'],
  )
  budget.noteDropped = (reason) => dropped.inc({ reason })
}

function healthRoute(app: App): void {
  const response = { 200: Type.Object({ status: Type.Literal('ok') }) }
  const options = route('public', tags, 'Liveness: the process runs', { response }, { quiet: true })
  app.get('/healthz', options, async () => ({ status: 'ok' as const }))
}

function readinessRoute(app: App, parts: ReadinessParts): void {
  app.get(
    '/readyz',
    route(
      'public',
      tags,
      'Readiness: the database responds, workers keep up, and the process is not stopping',
      {
        description:
          'With `for=webhooks`: whether received webhooks are acknowledged, which a spool (`SPOOL_URL`) makes possible while the database is unavailable.',
        querystring: Type.Object({ for: optionalText('`webhooks`; another value counts as none') }),
        response: { 200: Readiness, 503: Readiness },
      },
      { quiet: true },
    ),
    async ({ query }, reply) => {
      const { code, body } = await readReadiness(app, parts, query.for === 'webhooks')
      return reply.code(code).send(body)
    },
  )
}

function metricsRoute(app: App, metrics: Metrics): void {
  app.get(
    '/metrics',
    route(
      { scope: 'operate' },
      tags,
      'Metrics in Prometheus format, or in that of OpenMetrics, with exemplars, if `Accept` names it',
      { produces: ['text/plain', 'application/openmetrics-text'], response: { 200: Type.String() } },
      { openInDemo: true, quiet: true },
    ),
    async (request, reply) => {
      const isOpen = request.headers.accept?.includes('application/openmetrics-text') ?? false
      const { registry } = metrics
      return isOpen
        ? reply.header('content-type', Registry.OPENMETRICS_CONTENT_TYPE).send(await metrics.openMetrics())
        : reply.header('content-type', registry.contentType).send(await registry.metrics())
    },
  )
}

function documentRoute(app: App, configuration: Configuration): void {
  let document: string | undefined
  app.get(
    '/openapi.json',
    route(docsAccess(configuration), tags, 'This OpenAPI document', {
      response: { 200: Type.Object({}, { additionalProperties: true }) },
    }),
    async (_request, reply) => {
      document ??= JSON.stringify(app.swagger())
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .serializer((body: string) => body)
        .send(document as never)
    },
  )
}

function problemRoute(app: App): void {
  const Description = Type.Object({
    code: Type.String(),
    status: Type.Integer(),
    title: Type.String(),
    advice: Type.String(),
  })
  const params = Type.Object({ code: Type.String() })
  app.get(
    '/problems/:code',
    route('public', tags, 'The meaning of a problem, and the fix', {
      params,
      response: { 200: Description },
    }),
    async ({ params: { code } }) => {
      if (!Object.hasOwn(problems, code)) throw new Problem('not-found')
      const [status, title, advice] = problems[code as ProblemCode]
      return { code, status, title, advice }
    },
  )
}

const Settings = closedObject({
  data: Type.Array(
    closedObject({
      name: Type.String(),
      description: Type.String({ description: 'Markdown' }),
      value: nullable(Type.String(), 'Null if it has none, or if it is a secret'),
      isSet: Type.Boolean({ description: 'Whether it has a value' }),
      secret: Type.Boolean(),
      origin: Type.String({
        description: 'environment, .env file, --env-file, NAME_FILE, demo mode, default, not set',
      }),
    }),
  ),
})

/** GET /settings: what this process was started with, as `postern config print` shows it. */
function settingsRoute(app: App, source: SettingsSource): void {
  app.get(
    '/settings',
    report('admin', 'Settings and their sources, without secrets', Settings),
    async () => ({
      data: shownSettings(source).settings.map(({ name, description, value, secret, origin }) => ({
        name,
        description,
        value: secret ? null : (value ?? null),
        isSet: value !== undefined,
        secret,
        origin,
      })),
    }),
  )
}
