import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import type { Jobs } from '../jobs.ts'
import { JobView, viewJob } from '../views.ts'
import type { Area } from './area.ts'

export interface JobRouteParts {
  jobs: Jobs
}

const tags = ['deliveries']
const params = Type.Object({ id: Type.String() })

export function jobRoutes(app: App, { jobs }: JobRouteParts, { prefix, access, reach }: Area): void {
  const config = { access }

  app.get(
    `${prefix}/jobs/:id`,
    { config, schema: { tags, summary: 'How far a bulk replay is', params, response: { 200: JobView } } },
    async (request) => viewJob(await jobs.get(readJobId(request.params.id), reach(request))),
  )

  app.delete(
    `${prefix}/jobs/:id`,
    {
      config,
      schema: {
        tags,
        summary: 'Cancel a bulk replay; what it did stays done',
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
