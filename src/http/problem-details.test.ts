import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TransactionOver } from '../storage/transaction-over.ts'
import { toProblem } from './problem-details.ts'

test('a transaction that ran out of time is to be tried again; one that is used when it is over is a mistake', () => {
  const { code, status, extras } = toProblem(new TransactionOver('out of time'))
  assert.deepEqual([code, status, extras.retryAfter], ['storage-unavailable', 503, 5])
  assert.equal(toProblem(new TransactionOver('committed')).code, 'internal')
})
