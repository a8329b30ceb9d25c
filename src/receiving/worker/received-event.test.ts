import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ContextOfHandler, LazySignal } from './attempt.ts'
import { receivedEvent } from './received-event.ts'

const event = (body: string) =>
  receivedEvent({
    source: 'provider',
    eventId: 'e1',
    type: 'order.paid',
    payload: Buffer.from(body),
    headers: '{"content-type":"application/json"}',
    receivedAt: 0,
    attempts: 1,
  })
const context = (aborted = new LazySignal()): object =>
  new ContextOfHandler({
    tx: {} as never,
    emit: () => undefined,
    log: () => ({}) as never,
    aborted,
    dryRun: false,
  })
const getterOf = (of: object, name: string): unknown =>
  Object.entries(Object.getOwnPropertyDescriptor(of, name) ?? {}).find(([key]) => key === 'get')?.[1]

test('the body is parsed once, and a copied event has it', () => {
  const one = event('{"a":1}')
  assert.deepEqual(one.payload, { a: 1 })
  assert.equal(one.payload, one.payload)
  assert.deepEqual({ ...event('{"a":2}') }.payload, { a: 2 })
})

test('a copied context has the signal', () => {
  const aborted = new LazySignal()
  const copy: { signal?: AbortSignal } = { ...context(aborted) }
  aborted.abort(new Error('out of time'))
  assert.ok(copy.signal?.aborted)
})

test('all events share one getter, because a getter for each would retain its event', () => {
  assert.ok(getterOf(event('1'), 'payload'))
  assert.equal(getterOf(event('1'), 'payload'), getterOf(event('2'), 'payload'))
  assert.ok(getterOf(context(), 'signal'))
  assert.equal(getterOf(context(), 'signal'), getterOf(context(), 'signal'))
})
