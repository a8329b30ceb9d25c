import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { guardRoutes, type GuardParts } from './access.ts'

const guard = {
  baseUrl: () => 'https://gate.example.com',
  demo: false,
  noteForeignCall: undefined,
} as GuardParts

test('a route without an access, or with an unknown one, stops the start', () => {
  for (const access of [
    undefined,
    '',
    'admin',
    'everybody',
    null,
    {},
    { scope: '' },
    { scope: [] },
    { scope: 'events:*' },
    { scope: ['events:read', 'events'] },
    { scope: 'toString' },
  ]) {
    const app = Fastify()
    guardRoutes(app, guard)
    assert.throws(
      () => app.get('/', { config: { access } as object }, async () => ''),
      /^Error: GET \/ does not declare its access$/,
      JSON.stringify(access),
    )
  }
})
