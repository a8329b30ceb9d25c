import { ConfigurationError, redacted } from '../config/environment.ts'
import { createLog } from '../telemetry/log.ts'
import { startService } from '../service.ts'
import { readConfiguration } from './configuration.ts'

/** Runs the service until SIGTERM or SIGINT. */
export async function serve(options: { only?: string; migrate: boolean }): Promise<void> {
  if (options.only !== undefined && options.only !== 'http' && options.only !== 'workers') {
    throw new ConfigurationError([`--only takes http or workers, not ${options.only}`])
  }
  const { configuration, config } = await readConfiguration()
  const log = createLog(configuration.logLevel)
  log.info({ settings: redacted(configuration) }, 'starting')
  const roles = { http: options.only !== 'workers', workers: options.only !== 'http' }
  const service = await startService({ configuration, config, log, roles, migrate: options.migrate })
  log.info({ address: service.baseUrl, ms: Math.round(performance.now()) }, 'ready')
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'stopping')
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'could not stop cleanly')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
}
