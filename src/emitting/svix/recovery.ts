import { isoTime } from '../../runtime/iso-time.ts'
import type { ReplayFilter } from '../deliveries/replay.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import type { SvixCall, SvixOperations } from './call.ts'
import { endpointOf, reachOf } from './endpoints.ts'
import { invalidField } from './errors.ts'
import { taskId } from './ids.ts'

/** Milliseconds: 14 days, and 5 minutes by which clocks may differ. */
const longestRecovery = 14 * 86_400_000 + 5 * 60_000
/** The most event types of one replay. */
const mostTypes = 100

/** Filters for Svix's message statuses, and for classes of response statuses. */
const statuses = ['delivered', 'pending', 'dead', 'pending'] as const
const classes = { 0: 'none', 200: '2xx', 300: '3xx', 400: '4xx', 500: '5xx' } as const

/** Operations that start jobs, which send messages again. */
export function recoveryOperations(parts: EmittingRouteParts): SvixOperations {
  const { clock, replay } = parts
  // Svix always returns `running` here. A job without messages is done already.
  const view = (id: string, task: string): object => {
    return { id: taskId(id), status: 'running', task, updatedAt: isoTime(clock.now()) }
  }
  const start = async (call: SvixCall, filter: ReplayFilter, task: string): Promise<object> => {
    const { id } = await endpointOf(parts, call)
    const job = await replay.start(id, { filter, rate: null, caller: reachOf(call) }, call.origin)
    return view(job.id, task)
  }
  return {
    'v1.endpoint.recover': async (call) => {
      const times = readTimes(call.body)
      if (times.since < (times.until ?? clock.now()) - longestRecovery)
        throw invalidField(['since'], 'Cannot recover more than 14 days of messages')
      return start(call, { status: 'failed', ...times }, 'endpoint.recover')
    },
    'v1.endpoint.bulk-replay': async (call) => {
      const { eventTypes, channel, tag, status, statusCodeClass } = call.body as BulkReplay
      if ((eventTypes?.length ?? 0) > mostTypes)
        throw invalidField(['event_types'], `At most ${mostTypes} event types can be replayed at a time.`)
      const chosen = typeof status === 'number' ? statuses[status] : 'any'
      const responseClass = classes[statusCodeClass as keyof typeof classes]
      if (chosen === undefined)
        throw invalidField(['status'], 'No message has the status canceled. Use another status.')
      const filter: ReplayFilter = {
        status: chosen,
        ...readTimes(call.body),
        ...(eventTypes?.length && { eventTypes }),
        ...(channel && { channel }),
        ...(tag && { tag }),
        ...(responseClass && { responseClass }),
      }
      return start(call, filter, 'endpoint.bulk-replay')
    },
    'v1.endpoint.replay-missing': async (call) =>
      start(call, { status: 'missing', ...readTimes(call.body) }, 'endpoint.replay'),
  }
}

interface BulkReplay {
  eventTypes?: readonly string[] | null
  channel?: string | null
  tag?: string | null
  status?: number | null
  statusCodeClass?: number | null
}

/** Returns milliseconds since 1970. Libraries send up to nine fractional digits of a second. @throws SvixError 422 */
function readTimes(body: { since: string; until?: string | null }): { since: number; until?: number } {
  const read = (name: 'since' | 'until', text: string): number => {
    const time = Date.parse(text)
    if (Number.isNaN(time)) throw invalidField([name], 'invalid time', 'value_error.jsondecode')
    return time
  }
  return { since: read('since', body.since), ...(body.until && { until: read('until', body.until) }) }
}
