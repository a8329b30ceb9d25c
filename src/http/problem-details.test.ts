import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NewerDatabase } from '../storage/migrate.ts'
import { TransactionOver } from '../storage/transaction-over.ts'
import { toProblem } from './problem-details.ts'

test('a transaction that ran out of time is to be tried again; one that is used when it is over is a mistake', () => {
  const { code, status, extras } = toProblem(new TransactionOver('out of time'))
  assert.deepEqual([code, status, extras.retryAfter], ['storage-unavailable', 503, 5])
  assert.equal(toProblem(new TransactionOver('committed')).code, 'internal')
})

test('a call that a newer version of the database interrupts is to be sent again', () => {
  const { code, status, extras } = toProblem(new NewerDatabase({ number: 9_001, name: 'newer' }))
  assert.deepEqual([code, status, extras.retryAfter], ['database-newer', 503, 5])
})
