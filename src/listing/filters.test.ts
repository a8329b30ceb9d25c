import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownFields } from './checking/check.ts'
import type { Table } from './checking/table.ts'
import { filterKinds } from './filters.ts'
import type { Field } from './list.ts'

const upper = '0190AB00-0000-4000-8000-0000000000CD'

test('a UUID in upper case is one value on PostgreSQL: by two, an index does not give the order', () => {
  const table = { columns: new Map([['owner', { type: 'uuid', nullable: false }]]) } as unknown as Table
  const declared = { owner: { type: 'uuid', column: 'owner', description: '' } satisfies Field }
  const valuesOn = (engine: 'postgres' | 'sqlite', kind: 'equals' | 'in'): unknown => {
    const read = filterKinds[kind].read(upper, knownFields(declared, table, engine)['owner']!, 'owner')
    return typeof read === 'object' && 'values' in read && read.values
  }
  for (const kind of ['equals', 'in'] as const) {
    assert.deepEqual(valuesOn('postgres', kind), [upper])
    assert.deepEqual(valuesOn('sqlite', kind), [upper, upper.toLowerCase()])
  }
})
