import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, startedService } from '../harness/index.ts'

interface Operation {
  parameters?: { name: string; in: string; schema: Record<string, unknown> }[]
  responses: Record<string, { content?: Record<string, object> }>
}

describe('the OpenAPI document', () => {
  const service = startedService(engines[0]!)

  async function operations(): Promise<[name: string, operation: Operation][]> {
    const { paths } = (await (await service.fetch('/openapi.json')).json()) as {
      paths: Record<string, Record<string, Operation>>
    }
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [
        `${method} ${path}`,
        operation,
      ]),
    )
  }

  test('declares no bound for a parameter of a query string that the service does not keep', async () => {
    for (const [name, { parameters = [] }] of await operations())
      for (const parameter of parameters.filter((one) => one.in === 'query'))
        for (const bound of ['maxLength', 'enum', 'const'])
          assert.ok(!(bound in parameter.schema), `${name} declares ${bound} for ${parameter.name}`)
  })

  test('declares that a cursor of a page is not empty, which all lists refuse', async () => {
    const cursors = (await operations()).flatMap(([name, { parameters = [] }]) =>
      parameters.filter((one) => one.name === 'cursor').map(({ schema }) => ({ name, schema })),
    )
    assert.ok(cursors.length > 10)
    for (const { name, schema } of cursors)
      assert.ok('pattern' in schema || schema['minLength'] === 1, `${name}: ${JSON.stringify(schema)}`)
  })

  test('declares a problem besides each page that tells of an error', async () => {
    let pages = 0
    for (const [name, { responses }] of await operations())
      for (const [status, { content = {} }] of Object.entries(responses)) {
        if (Number(status) < 400 || !('text/html' in content)) continue
        pages++
        assert.ok('application/problem+json' in content, `${name} ${status}`)
      }
    assert.ok(pages > 0)
  })
})
