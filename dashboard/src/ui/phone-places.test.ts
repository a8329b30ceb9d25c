import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Column } from './column.tsx'
import { phonePlaces } from './phone-places.ts'

const column = (key: string, more: Partial<Column<object>> = {}): Column<object> => ({
  key,
  header: key,
  cell: () => null,
  ...more,
})

describe('the two lines of a row on a telephone', () => {
  test('by default: the first column, the status beside it, and the next two below', () => {
    const columns = ['type', 'status', 'source', 'id', 'created'].map((key) => column(key))
    assert.deepEqual(phonePlaces(columns), ['primary', 'aside', 'secondary', 'secondary', 'hidden'])
  })

  test('a column that asks for a place keeps the others out of it', () => {
    const columns = [
      column('time', { phone: 'secondary' }),
      column('type', { phone: 'primary' }),
      column('source'),
      column('state', { phone: 'hidden' }),
    ]
    assert.deepEqual(phonePlaces(columns), ['secondary', 'primary', 'hidden', 'hidden'])
  })
})
