// What senders send as proof of who they are is shown to nobody, and handlers get what came.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { microsoftGraph, slack } from '../../src/index.ts'
import { engines, rowIn, startedService } from '../harness/index.ts'
import { eventually, postWebhook } from './harness.ts'
import { dataOf } from '../emitting/harness.ts'

const state = 'client-state-0123456789-secret'
const secret = 'slack-signing-secret-0123456789'

describe('credentials of senders', () => {
  const handled = new Map<string, { payload: unknown; headers: Readonly<Record<string, string>> }>()
  const service = startedService(engines[0]!, () => ({
    receiving: {
      sources: { graph: microsoftGraph({ secret: state }), slack: slack({ secret }) },
      handlers: {
        '*': ({ source, payload, headers }) => void handled.set(source, { payload, headers }),
      },
    },
  }))

  const textOf = async (source: string): Promise<string> => {
    const { id } = await rowIn(service, 'events', { source })
    return (await service.admin(`/events/${id}`)).text()
  }

  test('in headers are not stored', async () => {
    const names = [
      'x-functions-key',
      'x-access-key',
      'ocp-apim-subscription-key',
      'x-api-key',
      'apikey',
      'x-shared-secret',
      'x-auth',
      'x-session-id',
      'x-client-jwt',
      'x-sig',
      'x-passwd',
      'x-db-credentials',
    ]
    const headers = Object.fromEntries(names.map((name) => [name, 'credential-1234']))
    const harmless = { 'idempotency-key': 'shown-1', 'x-event-key': 'shown-2', 'x-signal': 'shown-3' }
    assert.equal(
      (await postWebhook(service, { id: 'h', type: 'a' }, { ...headers, ...harmless })).status,
      200,
    )
    await eventually(() => handled.get('provider'))
    const text = await textOf('provider')
    assert.doesNotMatch(text, /credential-1234/)
    for (const shown of Object.values(harmless)) assert.match(text, new RegExp(shown))
    const stored = await service.database.reader.selectFrom('events').select('headers').execute()
    assert.doesNotMatch(JSON.stringify(stored), /credential-1234/)
  })

  test('of Graph are not shown with an event, but its handler gets them', async () => {
    const body = `{"value":[{"clientState":"${state}","subscriptionId":"s1","n":12345678901234567890}],"validationTokens":["eyJ0.eyJ1.sig"]}`
    assert.equal((await postWebhook(service, body, {}, 'graph')).status, 200)
    await eventually(() => handled.get('graph'))
    const text = await textOf('graph')
    assert.match(
      text,
      /"payload":\{"value":\[\{"clientState":"\[redacted\]","subscriptionId":"s1","n":12345678901234567890\}\],"validationTokens":"\[redacted\]"\}/,
    )
    assert.match(JSON.stringify(handled.get('graph')!.payload), new RegExp(state))
  })

  test('of Slack, in a form and in JSON within it, are not shown', async () => {
    const hook = 'https://hooks.slack.com/actions/T0/1/credential-1234'
    const payload = JSON.stringify({ type: 'block_actions', token: 'credential-1234', response_url: hook })
    const body = new URLSearchParams({ payload, token: 'credential-1234' }).toString()
    const time = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${signature}`,
    }
    assert.equal((await postWebhook(service, body, headers, 'slack')).status, 200)
    await eventually(() => handled.get('slack'))
    const { payloadBase64 } = JSON.parse(await textOf('slack')) as { payloadBase64: string }
    const shown = new URLSearchParams(Buffer.from(payloadBase64, 'base64').toString())
    assert.doesNotMatch(shown.toString(), /credential-1234/)
    assert.match(shown.get('payload')!, /"type":"block_actions"/)
    assert.match(JSON.stringify(handled.get('slack')!.payload), /credential-1234/)
  })

  test('of a refused request are not stored, also in lists and truncated bodies', async () => {
    const body = `{"value":[{"clientState":"credential-1234"}],"validationTokens":["credential-1234"],"x_functions_key":"credential-1234","rest":"${'x'.repeat(100)}"`
    await postWebhook(service, body, { 'x-functions-key': 'credential-1234' }, 'graph')
    const kept = await eventually(async () => {
      const data = await dataOf<object>(service, '/rejected-webhooks?source=graph')
      return data[0]
    })
    assert.doesNotMatch(JSON.stringify(kept), /credential-1234/)
  })
})
