import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LoginServices } from '../services.ts'
import { startFlow } from './start-route.ts'

test('a fault of the service during a start is not reported as a failed discovery', async () => {
  const fault = new TypeError('baseUrl is not a function')
  const outcomes: string[] = []
  const parts = {
    binding: { of: () => ({ bind: () => Buffer.alloc(32) }) },
    flows: { start: () => Promise.reject(fault) },
    audit: { note: async () => undefined },
    count: (_provider: string, outcome: string) => outcomes.push(outcome),
  } as unknown as LoginServices
  const log = { warn: () => undefined }
  const request = { headers: {}, log, ip: '', socket: {}, id: '' } as unknown as FastifyRequest
  const providerClient = { provider: { name: 'acme' } } as never
  const started = startFlow(parts, request, {} as FastifyReply, {
    providerClient,
    isForm: false,
    intent: { returnTo: '/dashboard' },
  })
  await assert.rejects(started, fault)
  assert.deepEqual(outcomes, [])
})
