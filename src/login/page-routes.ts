import { Type } from 'typebox'
import type { HostCookie } from '../http/responses/host-cookie.ts'
import type { Sessions } from '../accounts/sessions/sessions.ts'
import type { Users } from '../accounts/users/users.ts'
import type { App } from '../http/app.ts'
import { rawQuery, readOAuthParameters } from '../http/requests/query-string.ts'
import type { Queryable } from '../storage/database.ts'
import type { AppSignIns } from './flow/app-sign-ins.ts'
import { redirectToBaseUrl } from './demo-host-redirect.ts'
import { loginPage } from './page.ts'
import type { ProviderClient } from './provider-client/provider-client.ts'
import type { RefusalMessages } from './flow/refusal-messages.ts'
import { defaultTarget, safeReturnTo } from './flow/return-to.ts'
import { pageView, rememberLocales, sendPage } from '../http/pages/page-view.ts'
import { ofPages } from '../http/responses/response-headers.ts'
import { optionalText } from '../http/schemas/schemas.ts'

export interface PageRoutesParts {
  providers: ReadonlyMap<string, ProviderClient>
  reader: Queryable
  users: Users
  sessions: Sessions
  sessionCookie: HostCookie
  lastProvider: HostCookie
  refusals: RefusalMessages
  apps: AppSignIns
  baseUrl: () => string
  demo: boolean
}

const LoginQuery = Type.Object({
  error: optionalText('The failure code of the last sign-in'),
  id: optionalText('The reference ID of this failure'),
  provider: optionalText('The provider of the failed sign-in'),
  message: optionalText('The message of a hook that rejected the sign-in'),
  proof: optionalText('The signature of the message'),
  return_to: Type.Optional(Type.String()),
  reauthenticate: optionalText('As at GET /auth/{provider}, like the next three'),
  select_account: Type.Optional(Type.String()),
  login_hint: Type.Optional(Type.String()),
  acr_values: Type.Optional(Type.String()),
  ui_locales: optionalText('The languages for the pages, in order of preference'),
})

/** GET /login, and GET /auth/providers with the same providers as JSON. */
export async function pageRoutes(app: App, parts: PageRoutesParts): Promise<void> {
  await app.register(async (routes: App) => {
    if (parts.demo) redirectToBaseUrl(routes, parts.baseUrl)
    providersRoute(routes, parts)
    loginPageRoute(routes, parts)
  })
}

function providersRoute(routes: App, { providers }: PageRoutesParts): void {
  const data = [...providers.values()].map(({ provider: { name, label } }) => ({ name, label }))
  routes.get(
    '/auth/providers',
    {
      config: { access: 'public' },
      schema: {
        tags: ['sign-in'],
        summary: 'The identity providers on /login',
        response: {
          200: Type.Object({
            data: Type.Array(Type.Object({ name: Type.String(), label: Type.String() })),
          }),
        },
      },
    },
    async () => ({ data }),
  )
}

function loginPageRoute(routes: App, parts: PageRoutesParts): void {
  const { providers, reader, users, sessions, sessionCookie, lastProvider, refusals, apps, baseUrl, demo } =
    parts
  const buttons = [...providers.values()].map(({ provider: { name, label, icon } }) => ({
    name,
    label,
    icon,
  }))
  routes.get(
    '/login',
    {
      config: { access: 'public', sends: { sometimes: ['Set-Cookie', ...ofPages] } },
      schema: {
        tags: ['pages'],
        summary: 'The sign-in page',
        produces: ['text/html'],
        querystring: LoginQuery,
        response: { 200: Type.String() },
      },
    },
    async (request, reply) => {
      const query: Partial<Record<string, string>> = readOAuthParameters(rawQuery(request.url)).values
      const { error, id, provider = '', return_to: wanted } = query
      const returnTo = safeReturnTo(wanted, baseUrl())
      const token = sessionCookie.read(request)
      const session = token === undefined ? undefined : await sessions.find(token)
      const user = session && (await users.find(reader, session.userId))
      const html = loginPage({
        providers: buttons,
        signedInAs: user && (user.name ?? user.email ?? user.id),
        error,
        referenceId: id,
        failedProviderLabel: providers.get(provider)?.provider.label,
        refusal: refusals.verify(query),
        appName: await apps.nameFor(returnTo),
        passedOn: passedOn(query),
        returnTo: returnTo === defaultTarget(baseUrl()) ? undefined : returnTo,
        view: pageView(reply),
        usedLast: lastProvider.read(request),
        demo,
      })
      rememberLocales(reply, query['ui_locales'])
      return sendPage(reply, html)
    },
  )
}

/** What the sign-in asks the provider for. GET /auth/{provider} checks the values. */
function passedOn(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = ['reauthenticate', 'select_account', 'login_hint', 'acr_values']
  return Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
}
