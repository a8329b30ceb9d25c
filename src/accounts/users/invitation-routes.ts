import { Type, type Static } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import {
  closedObject,
  DateTime,
  IdParams,
  noContent,
  nullable,
  NullableText,
  storablePattern,
} from '../../http/schemas/schemas.ts'
import { pageParameters, pageSchema, readPageRequest, viewPage } from '../../paging/parameters.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { auditOrigin } from '../audit/audit.ts'
import { readSubjectNames } from '../audit/audit-log.ts'
import type { AccountServices } from '../services.ts'
import type { InvitationRow } from './invitations.ts'
import { storedGroups } from './user-profile.ts'

const tags = ['sign-in']
/** Seconds. */
const [shortest, usual, longest] = [60, 7 * 86_400, 30 * 86_400]

const addressPart = '[^\\s@\\u0000-\\u001f\\u007f\\ud800-\\udfff]+'

/** A user's own groups, in addition to those from providers. */
export const OwnGroups = Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: storablePattern }), {
  maxItems: 20,
  uniqueItems: true,
})

const Body = closedObject({
  email: Type.Optional(
    Type.String({
      maxLength: 320,
      pattern: `^${addressPart}@${addressPart}$`,
      description:
        'Only an identity with this verified address can use the invitation. Default: anyone who has the link can',
    }),
  ),
  role: Type.Optional(Type.Enum(['user', 'admin'], { description: 'Default: user' })),
  groups: Type.Optional(OwnGroups),
  expiresIn: Type.Optional(
    Type.Integer({
      minimum: shortest,
      maximum: longest,
      description: `Seconds for which it is valid; default ${usual}`,
    }),
  ),
})
const Invitation = closedObject({
  id: Type.String(),
  email: NullableText,
  role: Type.Enum(['user', 'admin']),
  groups: Type.Array(Type.String()),
  status: Type.Enum(['open', 'suspended', 'used', 'revoked', 'expired'], {
    description: 'Suspended: its creator may no longer invite',
  }),
  createdAt: DateTime,
  createdBy: Type.String({ description: 'Who created it: user:… or key:…' }),
  createdByName: nullable(Type.String(), 'The name of the user or key'),
  expiresAt: DateTime,
  usedAt: nullable(DateTime),
  usedBy: nullable(Type.String(), 'The ID of the user'),
  usedByName: NullableText,
  revokedAt: nullable(DateTime),
})
const NewInvitation = closedObject({
  ...Invitation.properties,
  url: Type.String({ description: 'The link for the person. No other response contains it.' }),
})

/** GET and POST /invitations, DELETE /invitations/{id}: for admins and keys. */
export function invitationRoutes(app: App, services: AccountServices): void {
  listRoute(app, services)
  createRoute(app, services)
  revokeRoute(app, services)
}

function listRoute(app: App, services: AccountServices): void {
  app.get(
    '/invitations',
    route({ scope: 'users:read' }, tags, 'Invitations, newest first; until 30 days after their expiry', {
      querystring: Type.Object(pageParameters()),
      response: { 200: pageSchema(Invitation) },
    }),
    async ({ query }) => {
      const page = await services.invitations.page(services.cursors, readPageRequest(query))
      const people = page.rows.flatMap((row) => [row.created_by, userOf(row)])
      const names = await readSubjectNames(services.database, people)
      const now = services.clock.now()
      return viewPage(page, (row) => {
        const shown = view(row, names, now)
        const isSuspended = shown.status === 'open' && page.formerCreators.has(row.created_by)
        return isSuspended ? { ...shown, status: 'suspended' as const } : shown
      })
    },
  )
}

function createRoute(app: App, services: AccountServices): void {
  app.post(
    '/invitations',
    route(
      { scope: 'users:write' },
      tags,
      'Invite a person; only this response contains the link',
      {
        description:
          'The role `admin` and groups need the scope `admin`, or an administrator with a recent sign-in (`RECENT_SIGN_IN`). An invitation has no effect after its creator loses the admin role or is blocked, the key is revoked, expires or (`ADMIN_API_KEY`) is changed, or the app is deleted.',
        body: Body,
        response: { 201: NewInvitation },
      },
      { sends: { always: ['Cache-Control'] } },
    ),
    async (request, reply) => {
      const { invitations, recentSignIn, database, clock, baseUrl } = services
      const { email, role = 'user', groups = [], expiresIn = usual } = request.body
      if (role === 'admin' || groups.length > 0) {
        requireScope(request, 'admin')
        // The invitation outlives the session that creates it, so a stolen cookie must not be enough.
        if (request.principal?.kind !== 'key') await recentSignIn.require(request, 'invitation.create_failed')
      }
      const now = clock.now()
      const invitation = { email, role, groups, expiresAt: now + expiresIn * 1_000 }
      const { row, token } = await invitations.create(invitation, auditOrigin(request))
      const names = await readSubjectNames(database, [row.created_by])
      reply.header('cache-control', 'no-store')
      return reply.code(201).send({ ...view(row, names, now), url: `${baseUrl()}/invitation/${token}` })
    },
  )
}

function revokeRoute(app: App, { invitations }: AccountServices): void {
  app.delete(
    '/invitations/:id',
    route({ scope: 'users:write' }, tags, 'Revoke an invitation', { params: IdParams, response: noContent }),
    async (request, reply) => {
      const { id } = request.params
      if (!isId(id) || !(await invitations.revoke(id, auditOrigin(request))))
        throw new Problem('not-found', { detail: 'There is no unused invitation with this id.' })
      return reply.code(204).send(null)
    },
  )
}

function userOf({ used_by: user }: InvitationRow): string | null {
  return user === null ? null : `user:${user}`
}

function view(
  row: InvitationRow,
  names: ReadonlyMap<string, string>,
  now: number,
): Static<typeof Invitation> {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    groups: storedGroups(row.groups),
    status: statusOf(row, now),
    createdAt: isoTime(row.created_at),
    createdBy: row.created_by,
    createdByName: names.get(row.created_by) ?? null,
    expiresAt: isoTime(row.expires_at),
    usedAt: isoTimeOrNull(row.used_at),
    usedBy: row.used_by,
    usedByName: names.get(userOf(row) ?? '') ?? null,
    revokedAt: isoTimeOrNull(row.revoked_at),
  }
}

function statusOf(row: InvitationRow, now: number): Static<typeof Invitation>['status'] {
  if (row.used_at !== null) return 'used'
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at > now ? 'open' : 'expired'
}
