import type { Clock } from '../../runtime/clock.ts'
import type { SpoolStatus } from '../../http/service-module.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

/** Adds the metrics of a spool. They are NaN while the spool does not answer. */
export function measureSpool(spool: SpoolStatus, metrics: Metrics, clock: Clock, log: Log): void {
  const stateOf = async (): ReturnType<SpoolStatus['state']> => {
    try {
      return await spool.state()
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error
      log.warn({ err: error }, 'the contents of the spool could not be read')
      return { events: Number.NaN, oldest: Number.NaN, full: false }
    }
  }
  metrics.gauge(
    'postern_spool_events',
    'Acknowledged webhooks that lie in the spool, until the database takes them',
    [],
    async (gauge) => gauge.set((await stateOf()).events),
  )
  metrics.gauge(
    'postern_spool_oldest_seconds',
    'Age of the oldest webhook in the spool; 0 when it is empty',
    [],
    async (gauge) => {
      const { oldest } = await stateOf()
      gauge.set(oldest === undefined ? 0 : (clock.now() - oldest) / 1000)
    },
  )
  metrics.gauge(
    'postern_spool_away',
    '1 while webhooks go to the spool, since the database does not answer',
    [],
    (gauge) => gauge.set(spool.away ? 1 : 0),
  )
}
