import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { JobView, viewJob } from '../../events/jobs/job.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
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

export function jobRoutes(
  app: App,
  { jobs, subscribers }: JobRouteParts,
  { prefix, access, reach }: Area,
): void {
  const config = { access }

  app.get(
    `${prefix}/subscribers/:id/jobs`,
    {
      config,
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
      config,
      schema: {
        tags,
        summary: 'How far a bulk replay, or the reprocessing of many events, is',
        params,
        response: { 200: JobView },
      },
    },
    async (request) => viewJob(await jobs.get(readJobId(request.params.id), reach(request))),
  )

  app.delete(
    `${prefix}/jobs/:id`,
    {
      config,
      schema: {
        tags,
        summary: 'Cancel a job; what it did stays done',
        params,
        response: { 200: JobView },
      },
    },
    async (request) => viewJob(await jobs.cancel(readJobId(request.params.id), reach(request))),
  )
}

function readJobId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no such job.' })
  return text
}
