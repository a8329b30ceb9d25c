import { Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { isId } from '../../crypto/ids.ts'
import { JobView, shownKinds, viewJob, type ShownJob, type ShownKind } from '../../events/jobs.ts'
import { Problem } from '../../errors.ts'
import { requireScope, holdsScope } from '../../http/access/access.ts'
import type { Access } from '../../http/access/principal.ts'
import { type App, route } from '../../http/app.ts'
import { closedObject, IdParams, listSchema, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { readChoice, pageParameters, readPageRequest, pageSchema, viewPage } from '../../paging/parameters.ts'
import type { Jobs } from '../deliveries/jobs.ts'
import { type Area, type EmittingRouteParts, subscriberOf } from './area.ts'

const tags = ['deliveries']
const ofOne = { tags, params: IdParams, response: { 200: JobView } }

const ListView = listSchema(JobView)

/** The name of a job's subject in scopes. */
const workedOn = { replay: 'subscribers', reprocess: 'webhooks' } as const satisfies Record<ShownKind, string>
type Verb = 'read' | 'write'

export function jobRoutes(app: App, parts: EmittingRouteParts, area: Area): void {
  if (area.reachesAll) allRoute(app, parts)
  listRoute(app, parts, area)
  singleRoutes(app, parts, area)
}

const statuses = ['running', 'done', 'cancelled', 'failed'] as const

const NamedJobView = closedObject({
  ...JobView.properties,
  subscriberName: nullable(
    Type.String(),
    'The description of the subscriber, or the host of its address; null if it was deleted',
  ),
})

function allRoute(app: App, { jobs, cursors }: EmittingRouteParts): void {
  app.get(
    '/jobs',
    route(
      { scope: shownKinds.map((kind) => `${workedOn[kind]}:read` as const) },
      ['operations'],
      'Jobs that replay deliveries or reprocess events, newest first',
      {
        description: 'An API key sees the kinds of its scopes.',
        querystring: Type.Object({
          kind: optionalText(shownKinds.join(', ')),
          status: optionalText(statuses.join(', ')),
          ...pageParameters(),
        }),
        response: { 200: pageSchema(NamedJobView) },
      },
    ),
    async ({ query, principal }) => {
      const { role, scopes = [] } = principal!
      const kind = query.kind ? readChoice(query.kind, 'kind', shownKinds) : undefined
      const status = query.status ? readChoice(query.status, 'status', statuses) : undefined
      const chosen = shownKinds
        .filter((one) => role === 'admin' || holdsScope(scopes, `${workedOn[one]}:read`))
        .filter((one) => kind === undefined || one === kind)
      if (chosen.length === 0) return { data: [], pageInfo: { hasNextPage: false, nextCursor: null } }
      const page = await jobs.page(cursors, { kinds: chosen, status }, readPageRequest(query))
      const nameOf = await jobs.subscriberNames(page.rows)
      return viewPage(page, (row) => ({ ...viewJob(row), subscriberName: nameOf(row.subscriber_id) }))
    },
  )
}

function listRoute(app: App, { jobs, subscribers }: EmittingRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/subscribers/:id/jobs`,
    route(area.access.read, tags, "A subscriber's newest twenty bulk replays", {
      params: IdParams,
      response: { 200: ListView },
    }),
    async (request) => {
      const { id } = await subscriberOf(subscribers, area, request)
      return { data: (await jobs.list(id)).map(viewJob) }
    },
  )
}

function singleRoutes(app: App, { jobs }: EmittingRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/jobs/:id`,
    {
      config: { access: accessFor(area, 'read') },
      schema: { ...ofOne, summary: 'The progress of a bulk replay or reprocessing job' },
    },
    async (request) => viewJob(await find(jobs, area, request, 'read')),
  )
  app.delete(
    `${area.prefix}/jobs/:id`,
    {
      config: { access: accessFor(area, 'write') },
      schema: { ...ofOne, summary: 'Cancel a job; its completed steps are not undone' },
    },
    async (request) => {
      const { id } = await find(jobs, area, request, 'write')
      return viewJob(await jobs.cancel(id, area.reach(request), auditOrigin(request)))
    },
  )
}

/** The kind of a job is known only after reading it: a key needs one of these scopes to call, and then the scope for the kind. */
function accessFor({ access, reachesAll }: Area, verb: Verb): Access {
  return reachesAll ? { scope: [`subscribers:${verb}`, `webhooks:${verb}`] } : access[verb]
}

/** @throws Problem `not-found`; `forbidden` without the scope for the kind of the job */
async function find(
  jobs: Jobs,
  { reach, reachesAll }: Area,
  request: FastifyRequest<{ Params: { id: string } }>,
  verb: Verb,
): Promise<ShownJob> {
  const { id } = request.params
  if (!isId(id)) throw new Problem('not-found', { detail: 'There is no such job.' })
  const job = await jobs.get(id, reach(request))
  if (reachesAll) requireScope(request, `${workedOn[job.kind]}:${verb}`)
  return job
}
