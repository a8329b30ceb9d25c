import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountEventTypes, describeAccountEvents } from '../../accounts/users/account-events.ts'
import { builtInTypes } from './built-in-types.ts'
import { EventCatalogue } from './event-catalogue.ts'

test('every type that the service sends by itself has a schema, and samples that match it', () => {
  const all = { ...builtInTypes, ...describeAccountEvents(accountEventTypes) }
  assert.equal(Object.keys(all).length, 10)
  // As if they were declared: that checks each sample.
  const { entries } = new EventCatalogue(all, false)
  for (const { type, description, schema, samples } of entries)
    assert.ok(description && schema && samples?.length, type)
})
