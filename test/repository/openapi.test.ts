import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { engines, startedService } from '../harness/index.ts'

/** Not part of the interface: pages, files, routes that only demo mode has, and Svix's API, which has its own OpenAPI document. */
const hidden = [/\/api\/v1\//, /^\/$/, /^\/assets\//, /^\/docs/, /^\/demo/, /^\/dashboard\/\*$/]

interface Document {
  openapi: string
  paths: Record<
    string,
    Record<string, { summary?: string; tags?: string[]; responses?: Record<string, unknown> }>
  >
}

describe('the OpenAPI document', () => {
  let document: Document

  const service = startedService(engines[0]!)
  before(async () => {
    document = (await (await service.fetch('/openapi.json')).json()) as Document
  })

  test('is OpenAPI 3.1', () => assert.match(document.openapi, /^3\.1\./))

  test('describes exactly the existing routes', () => {
    const declared = service.app.routeMethods
      .all()
      .filter((route) => !/^(HEAD|OPTIONS) /.test(route))
      .map((route) => route.replace(/:(\w+)/g, '{$1}'))
      .filter((route) => !hidden.some((pattern) => pattern.test(route.split(' ')[1]!)))
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(described.toSorted(), [...new Set(declared)].toSorted())
  })

  test('every call has a summary, a tag and a described success', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { summary, tags, responses = {} }] of Object.entries(methods)) {
        const name = `${method} ${path}`
        assert.ok(summary, `${name} has no summary`)
        assert.ok(tags?.length, `${name} has no tag`)
        assert.ok(
          Object.keys(responses).some((status) => /^[23]/.test(status)),
          `${name} describes no success: ${Object.keys(responses).join()}`,
        )
      }
    }
  })

  test('describes what demo mode opens, optional bodies, and that list parameters accept any text', () => {
    const operation = (method: string, path: string) =>
      document.paths[path]![method] as unknown as {
        security: object[]
        requestBody: { required: boolean }
        parameters: { name: string; schema: { anyOf: object[] } }[]
      }
    assert.deepEqual(operation('get', '/users').security[0], {})
    assert.ok(!operation('post', '/events').security.some((one) => Object.keys(one).length === 0))
    assert.equal(operation('post', '/subscribers/{id}/replay').requestBody.required, false)
    assert.equal(operation('post', '/products').requestBody.required, true)
    const limit = operation('get', '/users').parameters.find(({ name }) => name === 'limit')
    assert.deepEqual(limit!.schema.anyOf.at(-1), { type: 'string' })
    assert.ok(!JSON.stringify(document).includes('x-optional-body'))
  })
})
