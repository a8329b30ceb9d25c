import { Type, type Static } from 'typebox'
import type { Clock } from '../../runtime/clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { withinTime } from '../../storage/within-time.ts'
import type { SpoolStatus } from '../service-module.ts'

/** The state of a spool in the answer of /readyz. */
export const SpoolReport = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('full'), Type.Literal('unavailable')]),
    events: Type.Optional(Type.Integer({ description: 'Acknowledged webhooks that lie in it' })),
    oldestSeconds: Type.Optional(Type.Number({ description: 'Age of the oldest of them' })),
  },
  {
    description:
      'Where webhooks are stored while the database is unavailable, with `SPOOL_URL`; on SQLite also if the spool beside the file cannot be read',
  },
)

/** Milliseconds; a load balancer waits for some seconds for the answer, and the spool is one part of it. */
const answerWithin = 1_000

/** The state of a spool; `unavailable` if it does not answer within a second. */
export async function spoolReport(spool: SpoolStatus, clock: Clock): Promise<Static<typeof SpoolReport>> {
  try {
    const asked = withinTime(clock, answerWithin, spool.state(), 'the spool does not answer')
    const { events, oldest, full } = await asked
    const now = clock.now()
    return {
      status: full ? 'full' : 'ok',
      events,
      oldestSeconds: oldest === undefined ? 0 : Math.max(0, (now - oldest) / 1000),
    }
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    return { status: 'unavailable' }
  }
}
