import assert from 'node:assert/strict'
import { test } from 'node:test'
import { typesOf } from './types-of.ts'

const json = (schema: object) => ({ content: { 'application/json': { schema } } })

test('writes parameters, bodies and answers of the calls that programs make', () => {
  const text = typesOf({
    paths: {
      '/orders/{id}': {
        patch: {
          summary: 'Change */ an order',
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
            { name: 'dry-run', in: 'query', schema: { anyOf: [{ type: 'integer' }, { type: 'string' }] } },
          ],
          requestBody: {
            required: true,
            ...json({
              type: 'object',
              required: ['state'],
              properties: { state: { enum: ['open', 'paid'] }, note: { type: ['string', 'null'] } },
            }),
          },
          responses: {
            200: json({ type: 'array', items: { anyOf: [{ type: 'string' }, { const: 1 }] } }),
            204: {},
            404: json({ type: 'object', properties: { code: { type: 'string' } } }),
          },
        },
      },
      '/login': { get: { responses: { 200: { content: { 'text/html': { schema: { type: 'string' } } } } } } },
      '/totals': {
        get: { responses: { 200: json({ additionalProperties: { type: 'number' }, type: 'object' }) } },
      },
    },
  })
  assert.equal(
    text,
    `/** The calls of the service by method and path. */
export interface Calls {
  /** Change * / an order */
  'PATCH /orders/{id}': {
    params: { id: number }
    query?: { "dry-run"?: number | string | undefined }
    body: { state: "open" | "paid"; note?: string | null | undefined }
    answer: (string | 1)[] | undefined
  }
  'GET /totals': {
    answer: Record<string, number>
  }
}
`,
  )
})
