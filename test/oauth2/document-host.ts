import { createServer, type Server } from 'node:https'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { selfSigned } from '#test/harness/certificate.ts'

/** What is at a path: a document as JSON, or anything else by hand. */
type Published = Record<string, unknown> | ((response: ServerResponse) => void)

export interface DocumentHost {
  /** `https://localhost:PORT` */
  url: string
  /** Paths that were asked for. */
  asked: string[]
  publish(path: string, what: Published): string
  /** Publishes the document of an app, whose id is returned. */
  publishApp(path: string, more?: Record<string, unknown>): string
  close(): Promise<void>
}

/** A web server of apps that describe themselves by documents, whose certificate this process trusts. */
export async function startDocumentHost(): Promise<DocumentHost> {
  const certificate = selfSigned('localhost')
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, certificate.cert])
  const published = new Map<string, Published>()
  const asked: string[] = []
  const server: Server = createServer(certificate, (request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const what = published.get(path)
    if (typeof what === 'function') return what(response)
    if (what === undefined) return void response.writeHead(404).end()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(what))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  const publish: DocumentHost['publish'] = (path, what) => {
    published.set(path, what)
    return url + path
  }
  return {
    url,
    asked,
    publish,
    publishApp: (path, more = {}) =>
      publish(path, {
        client_id: url + path,
        client_name: 'Notes',
        redirect_uris: ['http://localhost/callback', 'https://app.example.com/callback'],
        token_endpoint_auth_method: 'none',
        ...more,
      }),
    async close() {
      setDefaultCACertificates(before)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
