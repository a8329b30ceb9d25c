import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { validationMessage } from './schema-compilers.ts'

test('a value that is not one of a fixed set gets an answer that names them', () => {
  const side = Type.Union([Type.Literal('left'), Type.Literal('right')])
  const schema = Type.Object({
    version: Type.Optional(Type.Literal(1)),
    side: Type.Optional(Type.Union([side, Type.Null()])),
    size: Type.Optional(Type.Array(Type.Enum(['S', 'M']))),
    limit: Type.Optional(Type.Union([Type.Literal('off'), Type.Number()])),
    name: Type.Optional(Type.String()),
  })
  const cases: [value: object, message: string][] = [
    [{ version: 2 }, '/version must be 1'],
    [{ side: 'up' }, '/side must be one of left, right'],
    [{ size: ['M', 'L'] }, '/size/1 must be one of S, M'],
    [{ side: 'up', size: ['L'] }, '/side must be one of left, right'],
    [{ limit: true }, '/limit must be string'],
    [{ name: 1 }, '/name must be string'],
  ]
  for (const [value, message] of cases) {
    const faults = Compile(schema).Errors(value)
    assert.equal(`${faults[0]!.instancePath} ${validationMessage(faults, schema)}`, message)
  }
})

test('a text that misses a pattern gets the description of its field first', () => {
  const address = Type.String({ pattern: '^[^@]+@[^@]+$', description: 'An e-mail address.' })
  const schema = Type.Object({
    to: Type.Array(address),
    code: Type.Optional(Type.String({ pattern: '^[a-z]+$' })),
  })
  const cases: [value: object, message: string][] = [
    [{ to: ['ops'] }, 'must be: An e-mail address (pattern ^[^@]+@[^@]+$)'],
    [{ to: [], code: '1' }, 'must match pattern "^[a-z]+$"'],
  ]
  for (const [value, message] of cases)
    assert.equal(validationMessage(Compile(schema).Errors(value), schema), message)
})
