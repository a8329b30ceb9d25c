import { Type } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import type { Jobs } from '../jobs.ts'
import { JobView, viewJob } from '../views.ts'

export interface JobRouteParts {
  jobs: Jobs
}

const tags = ['deliveries']
const config = { access: 'admin' } as const
const params = Type.Object({ id: Type.String() })

export function jobRoutes(app: App, { jobs }: JobRouteParts): void {
  app.get(
    '/jobs/:id',
    { config, schema: { tags, summary: 'How far a bulk replay is', params, response: { 200: JobView } } },
    async ({ params: { id } }) => viewJob(await jobs.get(readJobId(id))),
  )

  app.delete(
    '/jobs/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Cancel a bulk replay; what it did stays done',
        params,
        response: { 200: JobView },
      },
    },
    async ({ params: { id } }) => viewJob(await jobs.cancel(readJobId(id))),
  )
}

function readJobId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no such job.' })
  return text
}
