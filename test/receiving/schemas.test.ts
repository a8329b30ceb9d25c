// Schemas of payloads: what handlers get, and what becomes of events that do not match.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConfig, type StandardSchema } from '../../src/index.ts'
import { each, engines, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from './harness.ts'

interface Paid {
  amount: number
}

/** As a library would: the amount may be a text, and becomes a number. */
const paid: StandardSchema<unknown, Paid> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    async validate(value) {
      const { amount } = (value as { data?: { amount?: unknown } }).data ?? {}
      const number = Number(amount)
      if (number > 0) return { value: { amount: number } }
      return { issues: [{ message: 'is no amount', path: ['data', { key: 'amount' }] }] }
    },
  },
}

describe('schemas of payloads', () => {
  const amounts: number[] = []
  const others: unknown[] = []
  const service = startedService(engines[0]!, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,0,0' },
    config: defineConfig({
      receiving: {
        eventTypes: { 'order.paid': { schema: paid } },
        handlers: {
          'order.paid': (event) => {
            assert.match(event.raw.toString(), new RegExp(`"id":"${event.id}"`))
            amounts.push(event.payload.amount)
          },
          'order.*': ({ payload }) => void others.push(payload),
        },
      },
    }),
  }))

  type Detail = AnswerTo<'GET /events/{id}'>
  async function ended(eventId: string): Promise<Detail> {
    return eventually(async () => {
      const list = await service.fetch('/events?order=desc&limit=100')
      const { data } = (await list.json()) as { data: { id: number; eventId: string; status: string }[] }
      const found = data.find((one) => one.eventId === eventId && /processed|failed/.test(one.status))
      if (!found) return undefined
      return (await (await service.fetch(`/events/${found.id}`)).json()) as Detail
    }, eventId)
  }

  test('a handler gets what its schema makes of the payload, and others get the payload', async () => {
    const payload = { id: 'good', type: 'order.paid', data: { amount: '12' } }
    assert.equal((await postWebhook(service, payload)).status, 200)
    assert.equal((await ended('good')).status, 'processed')
    assert.deepEqual(amounts, [12])
    assert.deepEqual(others, [payload])
  })

  test('an event that does not match is acknowledged, and fails once with the field', async () => {
    const before = amounts.length
    const bad = { id: 'bad', type: 'order.paid', data: { amount: 'much' } }
    assert.equal((await postWebhook(service, bad)).status, 200)
    const { status, processing } = await ended('bad')
    assert.equal(status, 'failed')
    assert.deepEqual(each(processing!.failures, 'error'), [
      '[InvalidPayload: the payload is not what receiving.eventTypes["order.paid"] declares: /data/amount is no amount]',
    ])
    assert.equal(amounts.length, before)
  })
})
