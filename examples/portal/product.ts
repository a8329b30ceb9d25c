// A product with two tenants. Its people manage the webhooks of their own tenant on a page of the product.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createWebhooks, type Webhooks } from './webhooks.ts'

/** Stands for the product's users. Each belongs to one tenant. */
const people = new Map([
  ['ann', { tenant: 'acme' }],
  ['bob', { tenant: 'globex' }],
])
/** Stands for the product's own sign-in: the value of the cookie, and who has it. */
const sessions = new Map<string, string>()
let parcels = 0

export interface ProductOptions {
  webhooks: Webhooks
  /** The folder with the compiled files of `postern-client`. */
  clientFolder: string
}

export function createProduct(options: ProductOptions): Server {
  return createServer((request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      console.error(error)
      response.writeHead(502).end('Please try again later.')
    })
  })
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { webhooks, clientFolder }: ProductOptions,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://product')
  const call = `${request.method} ${pathname}`
  if (call === 'GET /page.js') return script(response, join(import.meta.dirname, 'page.js'))
  if (/^GET \/client\/[\w-]+(\/[\w-]+)?\.js$/.test(call))
    return script(response, join(clientFolder, pathname.slice('/client/'.length)))
  if (call === 'POST /sign-in') return signIn(response, searchParams.get('person') ?? '')

  // Take the tenant from the session: users must not choose it.
  const tenant = people.get(sessions.get(cookieOf(request)) ?? '')?.tenant
  if (call === 'GET /') return page(response, tenant)
  if (tenant === undefined) return void response.writeHead(401).end('Please sign in.')
  if (call === 'POST /api/portal-link') {
    const link = await webhooks.portalLink(tenant)
    return void response.writeHead(200, { 'cache-control': 'no-store' }).end(link)
  }
  if (call === 'POST /api/parcels') {
    const parcel = `p_${++parcels}`
    await webhooks.parcelSent(tenant, parcel, 'DHL')
    return void response.writeHead(201).end(parcel)
  }
  response.writeHead(404).end()
}

function script(response: ServerResponse, file: string): void {
  response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(file))
}

function signIn(response: ServerResponse, person: string): void {
  if (!people.has(person)) return void response.writeHead(404).end('There is no such person.')
  const session = randomBytes(32).toString('base64url')
  sessions.set(session, person)
  const cookie = `session=${session}; HttpOnly; SameSite=Lax; Path=/`
  response.writeHead(303, { 'set-cookie': cookie, location: '/' }).end()
}

const cookieOf = ({ headers }: IncomingMessage): string =>
  /(?:^|; )session=([\w-]+)/.exec(headers.cookie ?? '')?.[1] ?? ''

function page(response: ServerResponse, tenant: string | undefined): void {
  const signedIn = `
    <p>You work for ${tenant}.</p>
    <div id="webhooks"></div>
    <script type="importmap">{ "imports": { "postern-client/browser": "/client/browser/index.js" } }</script>
    <script type="module" src="/page.js"></script>`
  const signedOut = [...people.keys()]
    .map(
      (name) =>
        `<form method="post" action="/sign-in?person=${name}"><button>Sign in as ${name}</button></form>`,
    )
    .join('\n')
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(
    `<!doctype html><html lang="en"><title>Parcels</title>
    <h1>Parcels</h1>${tenant === undefined ? signedOut : signedIn}</html>`,
  )
}

if (import.meta.main) {
  const { POSTERN_URL = 'http://127.0.0.1:3000', POSTERN_KEY = '' } = process.env
  const clientFolder = dirname(dirname(fileURLToPath(import.meta.resolve('postern-client/browser'))))
  const product = createProduct({ webhooks: createWebhooks(POSTERN_URL, POSTERN_KEY), clientFolder })
  product.listen(4000, '127.0.0.1', () => console.log('The product: http://localhost:4000'))
}
