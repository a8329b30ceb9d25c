import { readEnvironment } from '../../src/config/environment.ts'
import type { Environment } from '../../src/config/readers.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { startService, type Service, type ServiceParts } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { documentOf } from './api-documents.ts'
import { checkAnswer, type ApiDocument } from './conformance.ts'
import { type Engine, patient } from './engines.ts'
import { scoped, type Unscoped } from './scoped.ts'
import { started } from './started.ts'

export const adminKey = 'pk_test_admin_key_0123456789'
export const webhookSecret = 'test-webhook-secret'

export interface TestService extends Service, AsyncDisposable {
  /** fetch on the service's own address; redirects are not followed. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** The same with the admin's API key, and `json` as the body. */
  admin(path: string, init?: RequestInit & { json?: unknown }): Promise<Response>
  databaseUrl: string
  /** Stops the service and drops its database. */
  close(): Promise<void>
}

/** The areas of the configuration may stand by themselves instead of in `config`, and `handlers` for those of `receiving`. */
export interface TestServiceOptions extends Pick<PosternConfig, 'receiving' | 'emitting' | 'login'> {
  handlers?: NonNullable<PosternConfig['receiving']>['handlers']
  env?: Environment
  config?: PosternConfig
  /** An existing database; then `close` does not drop it. */
  databaseUrl?: string
  parts?: Partial<ServiceParts>
}

/** The settings of a service of a test, in this process or in its own: a free port, known keys, and no rate limits. */
export const serviceEnvironment = (databaseUrl: string) => ({
  PORT: '0',
  DATABASE_URL: patient(databaseUrl),
  POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
  WEBHOOK_SECRET: webhookSecret,
  ADMIN_API_KEY: adminKey,
  RATE_LIMIT: 'off',
})

/**
 * A service on a database of its own, listening on a free loopback port. It is in demo mode (lists
 * open, loopback receivers allowed), with rate limits off, unless `env` says otherwise.
 */
export async function startTestService(
  engine: Engine,
  { handlers, receiving = handlers && { handlers }, emitting, login, ...given }: TestServiceOptions = {},
): Promise<TestService> {
  const areas = { ...(receiving && { receiving }), ...(emitting && { emitting }), ...(login && { login }) }
  const options = Object.keys(areas).length > 0 ? { ...given, config: { ...given.config, ...areas } } : given
  const database = options.databaseUrl === undefined ? await engine.createMigratedDatabase() : undefined
  const databaseUrl = options.databaseUrl ?? database!.url
  const env: Environment = {
    ...serviceEnvironment(databaseUrl),
    LOG_LEVEL: process.env['TEST_LOG'] ?? 'fatal',
    ...options.env,
  }
  const configuration = readEnvironment(env)
  const service = await startService({
    configuration,
    config: options.config,
    log: createLog(configuration.logLevel),
    settings: { env, originOf: () => 'environment' },
    ...options.parts,
  })
  // Every JSON answer that any test gets is held against the OpenAPI document.
  let document: ApiDocument | undefined
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(new URL(path, service.baseUrl), { redirect: 'manual', ...init })
    document ??= documentOf(() => service.app.swagger(), {
      ...options,
      env: { ...env, DATABASE_URL: undefined },
    })
    await checkAnswer(document, init.method ?? 'GET', path, response)
    return response
  }
  return scoped<Unscoped<TestService>>({
    ...service,
    databaseUrl,
    fetch: call,
    admin(path, { json, ...init } = {}) {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${adminKey}`)
      if (json !== undefined) headers.set('content-type', 'application/json')
      return call(path, { ...init, headers, ...(json !== undefined && { body: JSON.stringify(json) }) })
    },
    async close() {
      await service.stop(5_000)
      await database?.drop()
    },
  })
}

/** Such a service for the tests of a suite: see `started`. Its options may use what an earlier `started` has started. */
export const startedService = (engine: Engine, options?: () => TestServiceOptions): TestService =>
  started(() => startTestService(engine, options?.()))
