import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { version } from '../../runtime/version.ts'
import type { Authenticate, Principal } from '../access/principal.ts'
import type { App } from '../app.ts'
import { builtPage } from './built-pages.ts'
import { signInPath } from './error-page.ts'
import send from '@fastify/send'
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { codeFolder, posternCommand } from '../../code-folder.ts'

export interface DashboardParts {
  authenticate: Authenticate
  /** The answer of GET /auth/session. @throws Problem `not-signed-in` */
  describeSession: (principal: Principal | undefined) => Promise<object>
  demo: boolean
}

/** GET /dashboard and all addresses below it: one page for signed-in browsers. All others are sent to /login. */
export function serveDashboard(app: App, { authenticate, describeSession, demo }: DashboardParts): void {
  const { basePath } = app
  const home = builtPage(app.site, 'index.html', { preload: 'src/pages/home/home-page.tsx' })
  const others = builtPage(app.site, 'index.html')
  app.get('/', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) =>
    reply.redirect(`${basePath}/dashboard`, 303),
  )

  for (const [path, schema] of [
    ['/dashboard', description],
    ['/dashboard/*', { hide: true }],
  ] as const)
    app.get(path, { config: { access: 'public' }, schema }, async (request, reply) => {
      const session = await unlessSignedOut(async () => describeSession(await authenticate(request)))
      if (session === undefined) return reply.redirect(signInPath(request), 303)
      const html = (path === '/dashboard' ? home : others).render({
        basePath,
        demo,
        version,
        command: posternCommand,
        session,
      })
      return reply.type('text/html; charset=utf-8').send(html)
    })
}

const description = {
  tags: ['pages'],
  summary: 'The dashboard; redirects to /login without a session',
  response: {
    200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } },
    303: Type.Null({ description: 'To /login' }),
  },
}

async function unlessSignedOut(describe: () => Promise<object>): Promise<object | undefined> {
  try {
    return await describe()
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined
    throw error
  }
}

// RFC 9239, section 6: application/javascript is obsolete.
send.mime.define({ 'text/javascript': ['js'] }, true)

const assets = join(codeFolder, 'http/pages/assets')
const names = new Set(
  readdirSync(assets, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll(sep, '/')),
)

/** Serves the pages' files: no inline script or style, see security-headers.ts. */
export function serveAssets(app: App): void {
  app.get<{ Params: { '*': string } }>(
    '/assets/*',
    { config: { access: 'public' }, schema: { hide: true } },
    async ({ raw, params: { '*': name } }, reply) => {
      if (!names.has(name) || !name.includes('.')) return reply.callNotFound()
      // Asked for each time and mostly not modified: scripts of two versions do not fit together.
      const { statusCode, headers, stream } = await send(raw, name, { root: assets, maxAge: 0 })
      return reply.code(statusCode).headers(headers).send(stream)
    },
  )
}
