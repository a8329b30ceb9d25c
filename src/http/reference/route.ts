import type { Access } from '../access/principal.ts'
import type { App } from '../app.ts'
import { acceptedCoding, encodeOnce, type Coding } from '../caching/content-coding.ts'
import type { ApiDocument } from './document.ts'
import { referencePage } from './page.ts'

export interface ReferenceParts {
  /** Who may read the reference. */
  access: Access
  baseUrl: () => string
}

/** GET /docs: the API reference, made at its first request. */
export function serveReference(app: App, { access, baseUrl }: ReferenceParts): void {
  const { basePath } = app
  let page: string | undefined
  const encoded = new Map<Coding, Promise<Buffer>>()
  app.get('/docs', { config: { access }, schema: { hide: true } }, async ({ headers }, reply) => {
    page ??= referencePage({ document: app.swagger() as ApiDocument, basePath, origin: baseUrl() })
    const coding = acceptedCoding(headers['accept-encoding'])
    let body = encoded.get(coding)
    if (!body) encoded.set(coding, (body = encodeOnce(Buffer.from(page), coding)))
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply
      .header('vary', 'accept-encoding')
      .type('text/html; charset=utf-8')
      .send(await body)
  })
}
