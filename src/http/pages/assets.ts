import send from '@fastify/send'
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { codeFolder } from '../../code-folder.ts'
import type { App } from '../app.ts'

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
