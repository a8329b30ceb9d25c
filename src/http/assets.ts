import fastifyStatic from '@fastify/static'
import Fastify from 'fastify'
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { App } from './app.ts'
import { htmlDocument } from './html.ts'
import type { Access } from './principal.ts'

const assets = join(import.meta.dirname, 'assets')
const names = new Set(
  readdirSync(assets, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll(sep, '/')),
)

/**
 * Serves the pages' files and the API reference. Plain files, no inline script or style: see security-headers.ts.
 * @param docs who may read the reference
 */
export async function serveAssets(app: App, docs: Access): Promise<void> {
  await app.register(fastifyStatic, { root: assets, serve: false })

  app.get<{ Params: { '*': string } }>(
    '/assets/*',
    { config: { access: 'public' }, schema: { hide: true } },
    async ({ params: { '*': name } }, reply) => {
      if (!names.has(name) || !name.includes('.')) return reply.callNotFound()
      // Asked for each time and mostly not modified: scripts of two versions do not fit together.
      return reply.sendFile(name, assets, { maxAge: 0 })
    },
  )

  app.get('/docs', { config: { access: docs }, schema: { hide: true } }, async (_request, reply) =>
    // The reference sets styles from its script, which the strict policy of the other pages forbids.
    reply
      .header(
        'content-security-policy',
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      .type('text/html; charset=utf-8')
      .send(docsPage),
  )
  let script: Promise<Buffer> | undefined
  app.get(
    '/docs/reference.js',
    { config: { access: 'public' }, schema: { hide: true } },
    async (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=86400')
        .type('text/javascript; charset=utf-8')
        .send(await (script ??= referenceScript())),
  )
}

/**
 * The API reference's own script: 4 MB that only a plugin holds, so it is loaded when somebody first asks, and the
 * plugin's page, which needs inline scripts, is not used.
 */
async function referenceScript(): Promise<Buffer> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const holder = Fastify()
  await holder.register(reference, { routePrefix: '/', configuration: { url: '/openapi.json' } })
  const { statusCode, rawPayload } = await holder.inject('/js/scalar.js')
  if (statusCode !== 200) throw new Error(`the API reference did not give its script: ${statusCode}`)
  return rawPayload
}

const docsPage = htmlDocument({
  title: 'Postern API',
  // The reference brings its own.
  head: '',
  body: `<div id="reference"></div>
<script src="/docs/reference.js"></script>
<script src="/assets/docs.js"></script>`,
})
