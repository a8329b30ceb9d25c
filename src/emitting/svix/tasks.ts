import { sql } from 'kysely'
import { startJob } from '../../events/jobs.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Row } from '../../storage/tables.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import { hour } from '../subscribers/health.ts'
import { notFound, readTimes, type SvixCall, type SvixOperations, invalidField } from './call.ts'
import { pageOf, placeOf, readPage } from './pages.ts'
import { exportTaskId } from './event-types-openapi.ts'
import { readExport } from './event-types.ts'
import { applicationId, endpointId, readTaskId, taskId } from './ids.ts'
import type { ReplayFilter } from '../deliveries/replay.ts'

/** The most tasks that a filtered list reads. */
const mostExamined = 1_000
/** The most applications, or endpoints, in one statistic. */
const mostCounted = 10_000

const statuses = { running: 'running', done: 'finished', cancelled: 'finished', failed: 'failed' } as const

/** v1.background-task.* and v1.statistics.*: tasks are jobs. A statistic is computed immediately, so its task is finished from the start. */
export const taskOperations: SvixOperations = {
  async 'v1.background-task.get'({ params, parts }) {
    if (params['task_id'] === exportTaskId) return readExport(parts)
    const id = readTaskId(params['task_id']!)
    const row = id === undefined ? undefined : await shown(parts).where('id', '=', id).executeTakeFirst()
    if (!row) throw notFound()
    return viewTask(row)
  },
  'v1.background-task.list': list,
  async 'v1.statistics.aggregate-app-stats'(call) {
    const { data, unresolvedAppIds } = await countAttempts(call)
    return { ...(await finish(call.parts, 'application.stats', data)), unresolvedAppIds }
  },
  'v1.statistics.aggregate-event-types': async ({ parts }) =>
    finish(parts, 'event-type.aggregate', await readEventTypes(parts)),
}

function shown({ database }: EmittingRouteParts) {
  return database.reader.selectFrom('jobs').selectAll().where('kind', 'in', ['replay', 'statistics'])
}

function list({ query, parts }: SvixCall) {
  const asked = readPage(query)
  const { status, task } = query as { status?: string; task?: string }
  const read = async (behind: { id: string } | undefined, count: number) => {
    const rows = await shown(parts)
      .$if(behind !== undefined, (all) => all.where('id', asked.ascending ? '>' : '<', behind!.id))
      .orderBy('id', asked.ascending ? 'asc' : 'desc')
      .limit(status || task ? mostExamined : count)
      .execute()
    const matches = (row: Row<'jobs'>): boolean => {
      const shown = viewTask(row)
      return (!status || shown.status === status) && (!task || shown.task === task)
    }
    return { rows: rows.filter(matches) }
  }
  const find = (iterator: string) => placeOf(readTaskId(iterator))
  return pageOf(asked, { find, idOf: ({ id }) => taskId(id), read }, (rows) => rows.map(viewTask))
}

/** Stores a statistic as a finished task. */
async function finish({ database, clock }: EmittingRouteParts, task: string, data: object): Promise<object> {
  const job = { kind: 'statistics', filter: { task, data }, total: 0 } as const
  const row = await database.transaction((tx) => startJob(tx, job, clock.now()))
  const { data: _, ...view } = viewTask(row)
  return view
}

function viewTask({ id, kind, status, filter, total, done, subscriber_id, updated_at }: Row<'jobs'>) {
  const stored = JSON.parse(filter) as Record<string, unknown>
  const shared = { id: taskId(id), status: statuses[status], updatedAt: isoTime(updated_at) }
  if (kind === 'statistics') return { ...shared, ...(stored as { task: string; data: object }) }
  const endpoint = subscriber_id === null ? {} : { endpointId: endpointId(subscriber_id) }
  return { ...shared, task: taskOf(stored), data: { ...endpoint, total, done } }
}

/** The operation that started a replay, derived from its filter. */
function taskOf({
  status,
  missing,
  since: _since,
  until: _until,
  upTo: _upTo,
  ...others
}: Record<string, unknown>): string {
  if (missing !== undefined || status === 'missing') return 'endpoint.replay'
  return status === 'failed' && Object.keys(others).length === 0 ? 'endpoint.recover' : 'endpoint.bulk-replay'
}

/** The number of attempts to each application's endpoints, in whole hours. @throws SvixError 422 */
async function countAttempts({ body, parts: { database, owners } }: SvixCall) {
  const { appIds } = body as { appIds?: string[] | null }
  const { since, until } = readTimes(body, 'since', 'until')
  if (appIds && appIds.length > mostCounted)
    throw invalidField(['app_ids'], `There can be at most ${mostCounted} applications.`)
  const asked = new Map<string, string>()
  const unresolvedAppIds: string[] = []
  for (const id of appIds ?? []) {
    const found = await owners.directory.find(id)
    if (found) asked.set(found.owner, id)
    else unresolvedAppIds.push(id)
  }
  if (appIds && asked.size === 0)
    throw invalidField(['app_ids'], 'There is no application with any of these ids.')
  const { rows } = await sql<{ owner: string; attempts: number | string }>`
    select s.owner, sum(h.delivered + h.failed) as attempts
    from subscriber_hours h join subscribers s on s.id = h.subscriber_id
    where s.owner is not null and h.hour >= ${Math.floor(since! / hour) * hour} and h.hour < ${until}
    group by s.owner order by s.owner limit ${sql.lit(mostCounted)}`.execute(database.slowReader)
  const counted = rows.filter(({ owner }) => !appIds || asked.has(owner))
  const records = await owners.directory.records(counted.map(({ owner }) => owner))
  const appStats = counted.map(({ owner, attempts }) => ({
    messageDestinations: Number(attempts),
    appId: applicationId(owner),
    appUid: records.get(owner)?.uid ?? null,
  }))
  return { data: { appStats }, unresolvedAppIds }
}

/** The event types that each application's endpoints subscribe to. */
async function readEventTypes({ database }: EmittingRouteParts): Promise<object> {
  const rows = await database.slowReader
    .selectFrom('subscribers')
    .select(['owner', 'event_types'])
    .where('owner', 'is not', null)
    .orderBy('id')
    .limit(mostCounted)
    .execute()
  const types = [...Map.groupBy(rows, ({ owner }) => owner!)].map(([owner, own]) => {
    const named = new Set(own.flatMap(({ event_types }) => JSON.parse(event_types) as string[]))
    const hasCatchAllEndpoint = named.delete('*')
    return {
      appId: applicationId(owner),
      explicitlySubscribedEventTypes: [...named].toSorted(),
      hasCatchAllEndpoint,
    }
  })
  return { event_types: types }
}

/** Milliseconds: 14 days, and 5 minutes by which clocks may differ. */
const longestRecovery = 14 * 86_400_000 + 5 * 60_000
/** The most event types of one replay. */
const mostTypes = 100

/** Filters for Svix's message statuses, and for classes of response statuses. */
const deliveryStatuses = ['delivered', 'pending', 'dead', 'pending'] as const
const classes = { 0: 'none', 200: '2xx', 300: '3xx', 400: '4xx', 500: '5xx' } as const

/** Operations that start jobs, which send messages again. */
export const recoveryOperations: SvixOperations = {
  async 'v1.endpoint.recover'(call) {
    const times = readTimes(call.body, 'since', 'until')
    if (times.since! < (times.until ?? call.parts.clock.now()) - longestRecovery)
      throw invalidField(['since'], 'Cannot recover more than 14 days of messages')
    return start(call, { status: 'failed', ...times }, 'endpoint.recover')
  },
  async 'v1.endpoint.bulk-replay'(call) {
    const { eventTypes, channel, tag, status, statusCodeClass } = call.body
    if (eventTypes?.length > mostTypes)
      throw invalidField(['event_types'], `At most ${mostTypes} event types can be replayed at a time.`)
    const chosen = typeof status === 'number' ? deliveryStatuses[status] : 'any'
    const responseClass = classes[statusCodeClass as keyof typeof classes]
    if (chosen === undefined)
      throw invalidField(['status'], 'No message has the status canceled. Use another status.')
    const filter: ReplayFilter = {
      status: chosen,
      ...readTimes(call.body, 'since', 'until'),
      ...(eventTypes?.length && { eventTypes }),
      ...(channel && { channel }),
      ...(tag && { tag }),
      ...(responseClass && { responseClass }),
    }
    return start(call, filter, 'endpoint.bulk-replay')
  },
  'v1.endpoint.replay-missing': async (call) =>
    start(call, { status: 'missing', ...readTimes(call.body, 'since', 'until') }, 'endpoint.replay'),
}

async function start(
  { endpoint, reach, origin, parts: { clock, replay } }: SvixCall,
  filter: ReplayFilter,
  task: string,
): Promise<object> {
  const job = await replay.start(endpoint.id, { filter, rate: null, caller: reach }, origin)
  // Svix always returns `running` here. A job without messages is done already.
  return { id: taskId(job.id), status: 'running', task, updatedAt: isoTime(clock.now()) }
}
