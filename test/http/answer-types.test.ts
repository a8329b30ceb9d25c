// What every route keeps to, whichever it is (OWASP ASVS 5.0: 4.1.1, 13.4.4, 15.3.3). The routes are read from the service, so
// that a new route is covered without a change here.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { list } from '../../src/index.ts'
import { adminKey, engines, startedService } from '../harness/index.ts'

const shelf = list({
  path: '/shelf',
  table: 'products',
  fields: { id: { type: 'text' } },
  key: 'id',
  access: 'public',
  exports: true,
})

/** An id that nothing has. */
const absent = '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e'

/** Texts name their encoding; of the other types only pictures are served. */
const allowed =
  /^(?:application\/(?:json|problem\+json|x-ndjson)|text\/(?:html|plain|css|csv|javascript)(?:; version=[\d.]+)?); charset=utf-8$|^image\/svg\+xml/

/**
 * Bodies whose other fields are passed over and not refused, since their standards say so: RFC 6749, section 3.2 ("MUST
 * ignore unrecognized request parameters"), and its section 4.1.2 for answers of providers.
 */
const ignoring = [
  'post /auth/token',
  'post /auth/{provider}/token',
  'post /auth/{provider}/callback',
  'post /oauth2/device_authorization',
  'post /oauth2/end-session',
  'post /oauth2/introspect',
  'post /oauth2/revoke',
  'post /oauth2/token',
]

interface Schema {
  type?: string
  properties?: Record<string, unknown>
  additionalProperties?: unknown
  anyOf?: Schema[]
  items?: Schema
  $ref?: string
}

interface Operation {
  requestBody?: { content: Record<string, { schema?: Schema }> }
}

describe('every route', () => {
  const service = startedService(engines[0]!, () => ({
    // Demo mode adds the pages of an identity provider.
    env: { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' },
    config: { listing: { lists: [shelf] } },
  }))

  /** Calls of every route, in several ways of filling its path. */
  const calls = (): { method: string; path: string }[] =>
    service.app.routeMethods.all().flatMap((declared) => {
      const [method = '', url = ''] = declared.split(' ')
      const paths = [absent, '1', 'provider'].map((value) => url.replaceAll(/:\w+/g, value))
      return [...new Set(paths)].flatMap((path) =>
        path.includes('*')
          ? ['pages.css', 'reference.js'].map((file) => ({ method, path: path.replace('*', file) }))
          : [{ method, path }],
      )
    })

  test('has a media type with its charset', async () => {
    const wrong: string[] = []
    const seen = new Set<string>()
    for (const { method, path } of calls()) {
      const reads = ['GET', 'HEAD', 'OPTIONS'].includes(method)
      for (const credential of [{}, { authorization: `Bearer ${adminKey}` }]) {
        for (const payload of reads ? [undefined] : ['{}', '{', undefined]) {
          const { statusCode, headers, rawPayload } = await service.app.inject({
            method: method as 'GET',
            url: path,
            headers: {
              ...credential,
              ...(payload !== undefined && { 'content-type': 'application/json' }),
            },
            ...(payload !== undefined && { payload }),
          })
          if (rawPayload.length === 0) continue
          const type = String(headers['content-type'])
          seen.add(type)
          if (!allowed.test(type)) wrong.push(`${method} ${path}: ${statusCode} ${type}`)
        }
      }
    }
    assert.deepEqual(wrong, [])
    assert.ok(seen.size >= 8, [...seen].join(', '))
  })

  test('refuses TRACE', async () => {
    for (const { path } of calls()) {
      const { statusCode, payload } = await service.app.inject({
        method: 'TRACE',
        url: path,
        headers: { 'x-secret': 'do not echo' },
      })
      assert.equal(statusCode, 405, path)
      assert.ok(!payload.includes('do not echo'), path)
    }
  })

  test('refuses unknown fields of a body, except where a standard says otherwise', async () => {
    const document = (await service.app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, Operation>>
    }>()
    const open: string[] = []
    let bodies = 0
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, { requestBody }] of Object.entries(operations)) {
        for (const { schema = {} } of Object.values(requestBody?.content ?? {})) {
          bodies += 1
          if (openObjects(schema) > 0) open.push(`${method} ${path}`)
        }
      }
    }
    assert.deepEqual(open.toSorted(), ignoring.toSorted())
    assert.ok(bodies > 15, `only ${bodies} bodies`)
  })
})

/** How many objects of a body take fields that they do not declare; what is a value of the caller's own is not counted. */
function openObjects(schema: Schema): number {
  const below = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
  const own = schema.properties !== undefined && schema.additionalProperties !== false ? 1 : 0
  const fields = Object.values(schema.properties ?? {}) as Schema[]
  return [...below, ...fields].reduce((sum, one) => sum + openObjects(one), own)
}
