import type { PosternConfig } from './define-config.ts'
import { type CheckName, checkNames, createDiagnostics } from './diagnostics/index.ts'
import { demoNames } from './demo/samples.ts'
import type { App } from './http/app.ts'
import { createApp, type Timeouts } from './http/create-app.ts'
import { postgresCallCounts } from './http/limits/rate-limiter.ts'
import { refuseOtherHosts } from './http/access/access.ts'
import { findRoute } from './http/finder.ts'
import type { ModuleParts } from './http/service-module.ts'
import type { Modules } from './create-modules.ts'
import type { SettingsSource } from './config/shown-settings.ts'
import type { BodyLimits } from './http/body/budget.ts'
import { operations } from './http/operations/routes.ts'
import type { Worker } from './runtime/worker.ts'
import type { Recorder } from './telemetry/history/recorder.ts'
import type { HistoryStore } from './telemetry/history/store.ts'

export interface AppParts {
  config?: PosternConfig | undefined
  /** How long a sender may take for a request. */
  timeouts?: Timeouts
  /** What bodies that are being read may take. */
  bodies?: Partial<BodyLimits>
  /** Where the settings come from, for GET /settings. Default: the environment of the process. */
  settings?: SettingsSource
}

/** Creates the application, without routes. */
export function createServiceApp(
  { configuration, log, clock, database, baseUrl }: ModuleParts,
  { timeouts, bodies }: AppParts,
  { accounts, emitting }: Modules,
): Promise<App> {
  return createApp({
    configuration,
    log,
    clock,
    authenticate: accounts.authenticate,
    describeSession: accounts.describeSession,
    shownImpersonation: (request) => accounts.impersonations.shown(request),
    authenticatePortal: emitting.authenticatePortal,
    noteForeignCall: accounts.noteForeignCall,
    noteForbidden: accounts.noteForbidden,
    baseUrl,
    timeouts,
    bodies,
    countCalls: database.engine === 'postgres' ? postgresCallCounts(database) : undefined,
  })
}

/** Declares the calls for operators. Returns what needs attention. */
export function declareOperations(
  app: App,
  common: ModuleParts,
  parts: AppParts,
  {
    modules,
    ...running
  }: { modules: Modules; history: HistoryStore; recorder: Recorder; workers: readonly Worker[] },
) {
  return operations(app, {
    ...common,
    ...running,
    checklist: {
      baseUrl: common.baseUrl,
      demoNames,
      hasModule: parts.config !== undefined,
      declaresLists: (parts.config?.listing?.lists ?? []).length > 0,
    },
    attention: modules.all.flatMap(({ attention }) => attention ?? []),
    spool: modules.receiving.spool,
    isRefusing: modules.receiving.isRefusing,
    checkSpool: modules.receiving.checkSpool,
    ...diagnosticParts(common, parts),
  })
}

/** What `GET /settings` and `GET /diagnostics` show. */
function diagnosticParts({ configuration, database }: ModuleParts, { config, settings }: AppParts) {
  const source = settings ?? { env: process.env, originOf: () => 'environment' }
  const diagnose = createDiagnostics({ configuration, config, env: source.env, database })
  return {
    settings: source,
    checks: { names: checkNames, run: (check: string) => diagnose(check as CheckName) },
  }
}

/** Declares the routes of all modules. */
export async function declareRoutes(app: App, { all, demoProvider }: Modules): Promise<void> {
  for (const module of all) await module.routes(app)
  findRoute(
    app,
    all.flatMap(({ finders = [] }) => finders),
  )
  if (!demoProvider) return
  await app.register(async (scope) => {
    refuseOtherHosts(scope)
    await demoProvider.routes(scope)
  })
}
