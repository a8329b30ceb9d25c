import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledQuery } from 'kysely'
import { SingleStatements } from './single-statements.ts'

const insert = CompiledQuery.raw('insert into letters values (1)')

function learned(): SingleStatements {
  const statements = new SingleStatements()
  for (let index = 0; index < 4; index += 1) statements.learn('first', true)
  return statements
}

test('the number of groups is bounded, also if all have single statements', () => {
  const statements = learned()
  for (let index = 0; index < 10_000; index += 1) statements.learn(`other ${index}`, true)
  assert.equal(statements.expected('first', insert), false)
})

test('a group that is known does not make the others forgotten', () => {
  const statements = learned()
  for (let index = 1; index < 10_000; index += 1) statements.learn(`other ${index}`, true)
  statements.learn('other 1', false)
  assert.equal(statements.expected('first', insert), true)
})
