import assert from 'node:assert/strict'
import { test } from 'node:test'
import { divideConnections, leastConnections } from './connection-shares.ts'

test('each kind of work has connections that no other kind can take, even with the fewest connections', () => {
  for (let connections = leastConnections; connections <= 200; connections += 1) {
    const { pool, handlers, lists, quickLists } = divideConnections(connections)
    assert.equal(pool + 3, connections)
    assert.ok(
      handlers >= 2 && lists >= 1,
      `${handlers} for handlers and ${lists} for lists of ${connections}`,
    )
    assert.ok(pool - handlers - lists >= 2, `too few are left of ${connections}`)
    assert.ok(quickLists > lists && pool - handlers - quickLists === 1, `quick lists of ${connections}`)
  }
  assert.deepEqual(divideConnections(12), { pool: 9, handlers: 4, lists: 2, quickLists: 4 })
  assert.throws(() => divideConnections(leastConnections - 1), /at least 8/)
})
