import { Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { auditOrigin } from '../../accounts/audit.ts'
import { isId } from '../../crypto/ids.ts'
import { JobView, viewJob } from '../../events/jobs/job.ts'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access.ts'
import type { App } from '../../http/app.ts'
import type { Access } from '../../http/principal.ts'
import type { JobsTable } from '../../storage/tables.ts'
import type { Jobs } from '../jobs.ts'
import type { Subscribers } from '../subscribers.ts'
import type { Area } from './area.ts'
import { readSubscriberId } from './subscribers.ts'

export interface JobRouteParts {
  jobs: Jobs
  subscribers: Subscribers
}

const tags = ['deliveries']
const params = Type.Object({ id: Type.String() })

const ListView = Type.Object({ data: Type.Array(JobView) }, { additionalProperties: false })

/** What a job works on, as scopes call it. */
const workedOn = { replay: 'subscribers', reprocess: 'webhooks' } as const satisfies Record<
  JobsTable['kind'],
  string
>
type Verb = 'read' | 'write'

export function jobRoutes(
  app: App,
  { jobs, subscribers }: JobRouteParts,
  { prefix, access, reach, reachesAll }: Area,
): void {
  // The kind of a job is known when it was read: a key needs one of these scopes to ask, and then that of the kind.
  const accessFor = (verb: Verb): Access =>
    reachesAll ? { scope: [`subscribers:${verb}`, `webhooks:${verb}`] } : access[verb]
  const find = async (request: FastifyRequest, id: string, verb: Verb): Promise<JobsTable> => {
    const job = await jobs.get(readJobId(id), reach(request))
    if (reachesAll) requireScope(request, `${workedOn[job.kind]}:${verb}`)
    return job
  }

  app.get(
    `${prefix}/subscribers/:id/jobs`,
    {
      config: { access: access.read },
      schema: {
        tags,
        summary: 'The newest twenty bulk replays of a subscriber, newest first',
        params,
        response: { 200: ListView },
      },
    },
    async (request) => {
      const { id } = await subscribers.get(readSubscriberId(request.params.id), reach(request))
      return { data: (await jobs.list(id)).map(viewJob) }
    },
  )

  app.get(
    `${prefix}/jobs/:id`,
    {
      config: { access: accessFor('read') },
      schema: {
        tags,
        summary: 'How far a bulk replay, or the reprocessing of many events, is',
        params,
        response: { 200: JobView },
      },
    },
    async (request) => viewJob(await find(request, request.params.id, 'read')),
  )

  app.delete(
    `${prefix}/jobs/:id`,
    {
      config: { access: accessFor('write') },
      schema: {
        tags,
        summary: 'Cancel a job; what it did stays done',
        params,
        response: { 200: JobView },
      },
    },
    async (request) => {
      const { id } = await find(request, request.params.id, 'write')
      return viewJob(await jobs.cancel(id, reach(request), auditOrigin(request)))
    },
  )
}

function readJobId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no such job.' })
  return text
}
