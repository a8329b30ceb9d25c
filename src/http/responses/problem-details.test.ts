import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NewerDatabase } from '../../storage/migrate.ts'
import { TransactionOver } from '../../storage/lazy-transaction.ts'
import { toProblem } from './problem-details.ts'

test('a transaction timeout is retryable; use after the end is a bug', () => {
  const { code, status, extras } = toProblem(new TransactionOver('out of time'))
  assert.deepEqual([code, status, extras.retryAfter], ['storage-unavailable', 503, 5])
  assert.equal(toProblem(new TransactionOver('committed')).code, 'internal')
})

test('a call that is interrupted by a newer schema is retryable', () => {
  const { code, status, extras } = toProblem(new NewerDatabase({ number: 9_001, name: 'newer' }))
  assert.deepEqual([code, status, extras.retryAfter], ['database-newer', 503, 5])
})
