import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NewerDatabase } from '../../storage/migrate.ts'
import { TransactionOver } from '../../storage/transaction-over.ts'
import { toProblem } from './problem-details.ts'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'

test('a transaction timeout is retryable; use after the end is a bug', () => {
  const { code, status, extras } = toProblem(new TransactionOver('out of time'))
  assert.deepEqual([code, status, extras.retryAfter], ['storage-unavailable', 503, 5])
  assert.equal(toProblem(new TransactionOver('committed')).code, 'internal')
})

test('a call that is interrupted by a newer schema is retryable', () => {
  const { code, status, extras } = toProblem(new NewerDatabase({ number: 9_001, name: 'newer' }))
  assert.deepEqual([code, status, extras.retryAfter], ['database-newer', 503, 5])
})

test('a value that is not one of a fixed set gets an answer that names them', () => {
  const side = Type.Union([Type.Literal('left'), Type.Literal('right')])
  const schema = Type.Object({
    version: Type.Optional(Type.Literal(1)),
    side: Type.Optional(Type.Union([side, Type.Null()])),
    size: Type.Optional(Type.Array(Type.Enum(['S', 'M']))),
    limit: Type.Optional(Type.Union([Type.Literal('off'), Type.Number()])),
    name: Type.Optional(Type.String()),
  })
  const cases: [value: object, detail: string][] = [
    [{ version: 2 }, '/version must be 1.'],
    [{ side: 'up' }, '/side must be one of left, right.'],
    [{ size: ['M', 'L'] }, '/size/1 must be one of S, M.'],
    [{ side: 'up', size: ['L'] }, '/side must be one of left, right.'],
    [{ limit: true }, '/limit must be string.'],
    [{ name: 1 }, '/name must be string.'],
  ]
  for (const [value, detail] of cases) {
    const { code, extras } = toProblem({ validation: Compile(schema).Errors(value) })
    assert.deepEqual([code, extras.detail], ['invalid-body', detail])
  }
})
