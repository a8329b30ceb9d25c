import { Type } from 'typebox'
import { auditOrigin } from '../accounts/audit/audit.ts'
import { Problem } from '../errors.ts'
import { type App, route } from '../http/app.ts'
import { DateTime, nullable } from '../http/schemas/schemas.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { LoginServices } from './services.ts'
import type { ProviderClient } from './provider-client/provider-client.ts'
import { sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { ProviderFinding } from './check-provider.ts'

/** Sign-ins, and users, that are counted at most. */
const countAtMost = 10_000

const day = 86_400_000

// Each query reads a bounded part of an index.

/** Users whose first identity is of this provider. */
async function countUsers({ slowReader }: Database, provider: string): Promise<number> {
  const some = slowReader
    .selectFrom('users')
    .select('id')
    .where('provider', '=', provider)
    .limit(countAtMost)
    .as('some')
  const { count } = await slowReader
    .selectFrom(some)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** The newest entry of a check; null without one. */
async function lastCheckOf({ slowReader }: Database, provider: string) {
  const row = await slowReader
    .selectFrom('audit_log')
    .select(['created_at', 'detail'])
    .where('provider', '=', provider)
    // A literal: both engines use a partial index only if they see that its condition holds.
    .where(sql<boolean>`action = 'provider.checked'`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!row || row.detail === null) return null
  const { state, text } = JSON.parse(row.detail) as ProviderFinding
  return { state, text, at: isoTime(row.created_at) }
}

/** Entries of the audit log in the last 24 hours and 7 days. */
async function countEntries(
  { slowReader }: Database,
  provider: string,
  action: 'user.signed_in' | 'sign_in.failed',
  now: number,
): Promise<{ day: number; week: number }> {
  const newest = slowReader
    .selectFrom('audit_log')
    .select('created_at')
    .where('provider', '=', provider)
    .where(sql<boolean>`action = ${sql.lit(action)}`)
    .where('created_at', '>', now - 7 * day)
    .orderBy('created_at', 'desc')
    .limit(countAtMost)
    .as('newest')
  return slowReader
    .selectFrom(newest)
    .select((eb) => [
      eb.fn.countAll<number>().as('week'),
      sql<number>`count(case when newest.created_at > ${now - day} then 1 end)`.as('day'),
    ])
    .executeTakeFirstOrThrow()
}

const tags = ['sign-in']
/** Checks that one caller may start in a minute. */
const checksPerMinute = 30
/** UTF-16 code units of a finding that are stored. */
const longestText = 500

const Counts = Type.Object({
  ok: Type.Integer({ minimum: 0, maximum: countAtMost }),
  failed: Type.Integer({ minimum: 0, maximum: countAtMost }),
})

const Check = Type.Object({
  state: Type.Enum(['ok', 'warning', 'fault'], {
    description: 'A fault stops sign-ins; a warning may',
  }),
  text: Type.String({ description: 'What was found: discovery, keys, reachability, clock' }),
  at: DateTime,
})

const Texts = (description: string) => Type.Array(Type.String(), { description })

const Provider = Type.Object({
  name: Type.String({ description: 'As in /auth/{provider}' }),
  label: Type.String({ description: 'As on /login' }),
  icon: Type.String({ description: 'A data: URI' }),
  kind: Type.Enum(['openid', 'oauth'], { description: 'OpenID Connect, or plain OAuth 2.0' }),
  builtIn: Type.Boolean({ description: 'Whether it is the provider of demo mode' }),
  issuer: nullable(Type.String(), 'Null for plain OAuth 2.0'),
  clientId: Type.String({ description: 'The client id of this service at the provider' }),
  callbackUrl: Type.String({ description: 'The redirect URI to register at the provider' }),
  scope: Type.String({ description: 'Separated by spaces' }),
  rules: Type.Object({
    allowedEmailDomains: Texts('Only verified addresses of these domains may sign in; empty: all'),
    allowedGroups: Texts('Only members of one of these groups may sign in; empty: all'),
    adminGroups: Texts('Members of these groups are admins'),
    exclusiveRoles: Type.Boolean({ description: 'Whether the groups alone decide who is an admin' }),
    updateProfile: Type.Boolean({ description: 'Whether each sign-in updates e-mail address and name' }),
    endSession: Type.Boolean({ description: 'Whether a sign-out goes on to the provider' }),
    keepsTokens: Type.Boolean({ description: "Whether the provider's tokens are stored for handlers" }),
  }),
  signIns: Type.Object(
    { day: Counts, week: Counts },
    { description: `Of the last 24 hours and 7 days; ${countAtMost} stands for that many or more` },
  ),
  users: Type.Integer({
    minimum: 0,
    maximum: countAtMost,
    description: `Users whose first identity is of this provider; ${countAtMost} stands for that many or more`,
  }),
  lastCheck: nullable(Check, 'Null if it was not checked yet'),
})

/** GET /providers and POST /providers/{name}/check, for admins. */
export function providersRoutes(routes: App, parts: LoginServices): void {
  routes.get(
    '/providers',
    route({ scope: 'users:read' }, tags, 'The configured identity providers, without secrets', {
      response: { 200: Type.Object({ data: Type.Array(Provider) }) },
    }),
    async () => ({
      data: await Promise.all([...parts.providers.values()].map((client) => view(parts, client))),
    }),
  )
  routes.post(
    '/providers/:name/check',
    route(
      { scope: 'users:write' },
      tags,
      'Check a provider now, as `postern doctor` does: discovery, keys, reachability, clock',
      { params: Type.Object({ name: Type.String() }), response: { 200: Check } },
      { rateLimit: { max: checksPerMinute } },
    ),
    async (request, reply) => {
      const { providers, checkProvider, database, audit, clock } = parts
      const { name } = request.params
      if (!providers.has(name)) throw new Problem('unknown-provider')
      const { state, text: whole } = await checkProvider(name)
      const text = whole.slice(0, longestText)
      const at = isoTime(clock.now())
      await database.transaction((tx) =>
        audit.record(tx, {
          ...auditOrigin(request),
          action: 'provider.checked',
          provider: name,
          target: `provider:${name}`,
          detail: { state, text },
        }),
      )
      return reply.send({ state, text, at })
    },
  )
}

async function view(
  { database, builtIn, stored, clock, baseUrl }: LoginServices,
  { provider }: ProviderClient,
) {
  const { name, label, icon, kind, clientId, scope, groups, admission } = provider
  const now = clock.now()
  const [ok, failed, users, lastCheck] = await Promise.all([
    countEntries(database, name, 'user.signed_in', now),
    countEntries(database, name, 'sign_in.failed', now),
    countUsers(database, name),
    lastCheckOf(database, name),
  ])
  return {
    name,
    label,
    icon,
    kind,
    builtIn: name === builtIn?.name,
    issuer: provider.kind === 'openid' ? provider.issuer : null,
    clientId,
    callbackUrl: `${baseUrl()}/auth/${name}/callback`,
    scope,
    rules: {
      allowedEmailDomains: [...admission.emailDomains],
      allowedGroups: [...admission.groups],
      adminGroups: [...groups.admin],
      exclusiveRoles: groups.exclusive,
      updateProfile: provider.updateProfile,
      endSession: provider.endSession,
      keepsTokens: stored.has(name),
    },
    signIns: {
      day: { ok: ok.day, failed: failed.day },
      week: { ok: ok.week, failed: failed.week },
    },
    users,
    lastCheck,
  }
}
