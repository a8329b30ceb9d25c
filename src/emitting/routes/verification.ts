import { type Static, Type } from 'typebox'
import { type App, route } from '../../http/app.ts'
import { readRequestOptions } from '../subscribers/request-options.ts'
import { destinationIn } from '../subscribers/destinations.ts'
import { type Area, type EmittingRouteParts, readSubscriberId, subscriberOf } from './area.ts'
import { closedObject, IdParams } from '../../http/schemas/schemas.ts'
import { Problem } from '../../errors.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeFolder } from '../../code-folder.ts'

const View = closedObject({
  url: Type.String(),
  signing: Type.Union([Type.Literal('v1'), Type.Literal('v1a'), Type.Literal('both')], {
    description: 'The signature of the deliveries. The code verifies `v1`',
  }),
  languages: Type.Array(
    closedObject({
      id: Type.String({ description: 'A stable name: typescript, python, go, …' }),
      name: Type.String(),
      file: Type.String({ description: 'The name under which to save it' }),
      code: Type.String({ description: 'A complete receiver; its first lines say how to run it' }),
    }),
  ),
})

/** Code for the receiver of a subscriber's deliveries. */
export function verificationRoutes(app: App, { subscribers }: EmittingRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/subscribers/:id/verification`,
    route(area.access.read, ['subscribers'], 'Receivers in nine languages that verify the signatures', {
      params: IdParams,
      response: { 200: View },
    }),
    async (request) => {
      const { url, signing, request: options } = await subscriberOf(subscribers, area, request)
      const prefix = readRequestOptions(options).signatureHeaders === 'svix' ? 'svix' : 'webhook'
      return { url, signing, languages: destinationIn(url) === null ? receiversFor(url, prefix) : [] }
    },
  )
}

/** Seconds for which receivers may cache the keys. */
const maxAge = 300
const JsonWebKey = closedObject({
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  kid: Type.String(),
  alg: Type.String(),
  use: Type.String(),
})

/** The public keys that verify the requests to a subscriber, as a JWK set (RFC 7517, section 5). */
export function keyRoutes(app: App, { secrets, database, clock }: EmittingRouteParts): void {
  app.get(
    '/.well-known/webhook-keys/:id',
    route(
      'public',
      ['subscribers'],
      "A subscriber's public keys for `v1a` and ed25519 signatures",
      { params: IdParams, response: { 200: closedObject({ keys: Type.Array(JsonWebKey) }) } },
      { sends: { always: ['Cache-Control'] } },
    ),
    async (request, reply) => {
      const id = readSubscriberId(request.params.id)
      const keys = await secrets.published(database.reader, id, clock.now())
      if (keys.length === 0) throw new Problem('not-found', { detail: 'No public keys are published here.' })
      reply.header('cache-control', `public, max-age=${maxAge}`)
      return { keys }
    },
  )
}

/** In the order in which they are offered. The id is also the name of the template, a file of its own in `templates/`. */
const languages = [
  { id: 'typescript', name: 'TypeScript', file: 'receive.ts' },
  { id: 'python', name: 'Python', file: 'receive.py' },
  { id: 'go', name: 'Go', file: 'receive.go' },
  { id: 'ruby', name: 'Ruby', file: 'receive.rb' },
  { id: 'php', name: 'PHP', file: 'receive.php' },
  { id: 'java', name: 'Java', file: 'Receive.java' },
  { id: 'csharp', name: 'C#', file: 'Program.cs' },
  { id: 'rust', name: 'Rust', file: 'src/main.rs' },
  { id: 'curl', name: 'curl and openssl', file: 'webhook.sh' },
]

let templates: readonly string[] | undefined

/**
 * The receivers for an address, complete programs. They verify `v1` signatures (HMAC-SHA256) over the raw body with a comparison in
 * constant time, accept any of several signatures, and refuse timestamps that differ from now by more than five minutes.
 * @param prefix the prefix of the signature headers
 */
export function receiversFor(url: string, prefix: 'webhook' | 'svix'): Static<typeof View>['languages'] {
  const { href, pathname } = new URL(url)
  templates ??= languages.map(({ id }) =>
    readFileSync(join(codeFolder, `emitting/verification/templates/${id}.txt`), 'utf8'),
  )
  return templates.map((template, index) => {
    const code = template
      .replaceAll(/webhook(?=-(?:id|timestamp|signature)\b)/g, prefix)
      .replaceAll('HTTP_WEBHOOK_', `HTTP_${prefix.toUpperCase()}_`)
      .replaceAll('{{url}}', () => harmless(href))
      .replaceAll('{{path}}', () => harmless(pathname))
    return Object.assign({ code }, languages[index]!)
  })
}

/** In the languages above, these characters could end a text or a comment, or begin an escape. A URL means the same without them. */
function harmless(text: string): string {
  return text.replace(/['\\$`]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}
