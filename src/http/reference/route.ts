import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/principal.ts'
import type { App } from '../app.ts'
import { acceptedCoding, encodeOnce } from '../caching/content-coding.ts'
import type { ApiDocument } from './document.ts'
import { areaPage, startPage } from './page.ts'

export interface ReferenceParts {
  /** Who may read the reference. */
  access: Access
  baseUrl: () => string
}

/** GET /docs and a page for each area below it: the API reference, each page made at its first request. */
export function serveReference(app: App, { access, baseUrl }: ReferenceParts): void {
  const options = { config: { access }, schema: { hide: true } } as const
  const pages = new Map<string, Buffer>()
  const encoded = new Map<string, Promise<Buffer>>()
  const pageOf = (area: string): Buffer | undefined => {
    const parts = { document: app.swagger() as ApiDocument, basePath: app.basePath, origin: baseUrl() }
    const html = area === '' ? startPage(parts) : areaPage(parts, area)
    return html === undefined ? undefined : Buffer.from(html)
  }
  const send = async (
    { headers }: FastifyRequest,
    reply: FastifyReply,
    area: string,
  ): Promise<FastifyReply> => {
    const page = pages.get(area) ?? pageOf(area)
    if (!page) {
      reply.callNotFound()
      return reply
    }
    pages.set(area, page)
    const coding = acceptedCoding(headers['accept-encoding'])
    const key = `${coding} ${area}`
    let body = encoded.get(key)
    if (!body) encoded.set(key, (body = encodeOnce(page, coding)))
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply
      .header('vary', 'accept-encoding')
      .type('text/html; charset=utf-8')
      .send(await body)
  }
  app.get('/docs', options, (request, reply) => send(request, reply, ''))
  app.get<{ Params: { area: string } }>('/docs/:area', options, (request, reply) =>
    send(request, reply, request.params.area),
  )
}
