import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlOf, exampleOf, limitsOf, rowsOf, typeOf } from './call-html.ts'
import { fields } from '#test/harness/fields.ts'

const person = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'string', maxLength: 10 },
    tags: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
  },
}

test('nested fields follow their parents', () => {
  assert.deepEqual(fields(rowsOf({ type: 'array', items: person }), 'depth', 'name', 'type', 'isRequired'), [
    [0, 'id', 'string', true],
    [0, 'tags', 'array of object', false],
    [1, 'name', 'string', false],
  ])
})

test('alternatives with different fields are shown as forms, equal ones once', () => {
  const other = { type: 'object', properties: { error: { type: 'string' } } }
  assert.equal(rowsOf({ anyOf: [person, { type: 'array', items: person }] }).length, 3)
  assert.deepEqual(
    rowsOf({ anyOf: [person, other, { type: 'null' }] }).map(({ name, meaning }) => name || meaning),
    ['Form 1 of 2', 'id', 'tags', 'name', 'Form 2 of 2', 'error'],
  )
})

test('types and limits are words', () => {
  assert.equal(typeOf({ anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] }), '"a" or null')
  assert.equal(typeOf({ type: ['string', 'null'] }), 'string or null')
  assert.equal(
    limitsOf({ anyOf: [{ type: 'integer', minimum: 1, maximum: 100 }, { type: 'string' }], default: 20 }),
    '1 to 100; default 20',
  )
  assert.equal(limitsOf({ type: 'string', minLength: 0, maxLength: 5 }), '0 to 5 characters')
})

test('an example has the required fields', () => {
  assert.deepEqual(exampleOf(person), { id: 'id' })
})

test('a command quotes its body', () => {
  const schema = { const: "it's" }
  const operation = {
    security: [{ bearer: ['events:write'] }],
    requestBody: { content: { 'application/json': { schema } } },
  }
  const call = { id: 'x', method: 'post', path: '/a/{id}', isSent: false, operation }
  assert.equal(
    curlOf(call, 'https://gate.example.com'),
    String.raw`curl -X POST "https://gate.example.com/a/$ID" \
  -H "Authorization: Bearer $POSTERN_KEY" \
  -H 'Content-Type: application/json' \
  -d '"it'\''s"'`,
  )
})
