// What the log tells of calls that are refused: from where, and with whose credential.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { adminKey, Browser, engines, started, startTestService } from '../harness/index.ts'
import { startOAuthProvider } from '../harness/oauth-provider.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { signIn } from '../login/harness.ts'
import { eventually } from '../receiving/harness.ts'

interface Line {
  msg: string
  route?: string
  status?: number
  [field: string]: unknown
}

describe('log lines of refused calls', () => {
  const lines: string[] = []
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const log = createLog('info', { write: (line: string) => void lines.push(line) })
    const env = { ...provider.env('ACME'), TRUSTED_PROXIES: '127.0.0.1' }
    return startTestService(engines[0]!, { env, parts: { log } })
  })

  const from = { 'x-forwarded-for': '203.0.113.9' }
  const lineOf = (route: string, status: number): Promise<Line> =>
    eventually(
      async () =>
        lines
          .map((line) => JSON.parse(line) as Line)
          .findLast((line) => line.msg === 'request' && line.route === route && line.status === status),
      `${route} ${status}`,
    )

  test('401: the address, without the credential', async () => {
    const secret = 'pk_unknown_0123456789'
    const response = await service.fetch('/subscribers', {
      headers: { ...from, authorization: `Bearer ${secret}` },
    })
    assert.equal(response.status, 401)
    const line = await lineOf('/subscribers', 401)
    assert.equal(line['address'], '203.0.113.9')
    assert.equal(line['credential'], undefined)
    assert.ok(!lines.join('').includes(secret))
  })

  test('401 of a webhook: the address', async () => {
    await service.fetch('/webhooks/provider', { method: 'POST', headers: from, body: '{}' })
    assert.equal((await lineOf('/webhooks/provider', 401))['address'], '203.0.113.9')
  })

  test('403: the ids of key, user and session, without secrets', async () => {
    const apiKeys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    const { id, key } = await apiKeys.create({ name: 'reader', scopes: ['events:read'] }, {})
    const asKey = await service.fetch('/subscribers', {
      headers: { ...from, authorization: `Bearer ${key}` },
    })
    assert.equal(asKey.status, 403)
    const ofKey = await lineOf('/subscribers', 403)
    assert.deepEqual(
      [ofKey['address'], ofKey['credential'], ofKey['keyId'], ofKey['userId']],
      ['203.0.113.9', 'key', id, undefined],
    )

    const browser = new Browser()
    provider.profile = { id: 'somebody', displayName: 'somebody' }
    await signIn(service, browser)
    const cookies = [...browser.cookies(service.baseUrl)]
    const cookie = cookies.map(([name, value]) => `${name}=${value}`).join('; ')
    const session = (await (
      await service.fetch('/auth/session', { headers: { cookie } })
    ).json()) as AnswerTo<'GET /auth/session'>
    assert.equal((await service.fetch('/users', { headers: { ...from, cookie } })).status, 403)
    const ofUser = await lineOf('/users', 403)
    assert.deepEqual(
      [ofUser['address'], ofUser['credential'], ofUser['userId']],
      ['203.0.113.9', 'session', session.user.id],
    )
    assert.ok(typeof ofUser['sessionId'] === 'string')

    // A call that a page of another site makes.
    const foreign = { ...from, cookie, origin: 'https://evil.example' }
    await service.fetch('/auth/logout', { method: 'POST', headers: foreign })
    assert.equal((await lineOf('/auth/logout', 403))['userId'], session.user.id)
    for (const secret of [key, adminKey, ...cookies.map(([, value]) => value)])
      assert.ok(!lines.join('').includes(secret))
  })

  test('successful calls log no address', async () => {
    assert.equal((await service.admin('/subscribers', { headers: from })).status, 200)
    const line = await lineOf('/subscribers', 200)
    assert.deepEqual([line['address'], line['keyId']], [undefined, undefined])
  })
})
