// /alerts: what each vendor gets, what is shown of a destination, and what is refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateEvery } from '../../src/alerts/index.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { onEachEngine, rowIn, started, startReceiver, startTestService, fields } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually } from '../receiving/harness.ts'
import { startSmtpServer } from './smtp-server.ts'

type Sending = AnswerTo<'GET /alerts/{id}/sendings'>['data'][number]
type Destination = AnswerTo<'GET /alerts'>['data'][number]

onEachEngine('destinations of alerts', (engine) => {
  const mail = started(startSmtpServer)
  const receiver = started(startReceiver)
  const service = started(async () => {
    const env = { SMTP_URL: mail.url, MAIL_FROM: 'Postern <gate@example.com>' }
    return startTestService(engine, { env, parts: { roles: { http: true, workers: false } } })
  })

  const send = async <T>(method: string, path: string, status: number, json?: unknown): Promise<T> => {
    const answer = await service.admin(path, { method, json })
    assert.equal(answer.status, status, await answer.clone().text())
    return (status === 204 ? undefined : await answer.json()) as T
  }
  const add = (body: object): Promise<Destination> => send('POST', '/alerts', 201, body)
  const testOf = ({ id }: Destination): Promise<Sending> => send('POST', `/alerts/${id}/test`, 200)
  const text = 'Test alert for the room'
  const name = () => `Postern (${new URL(service.baseUrl).host})`

  test('e-mail: from, to, subject and text with a link', async () => {
    const made = await add({ kind: 'email', name: 'the room', to: ['a@example.com', 'b@example.com'] })
    assert.deepEqual([made.to, made.host], [['a@example.com', 'b@example.com'], null])
    assert.equal((await testOf(made)).status, 'sent')
    const { from, to, data } = mail.mails.at(-1)!
    assert.deepEqual([from, to], ['gate@example.com', ['a@example.com', 'b@example.com']])
    assert.match(data, /^Subject: \[Postern \(127\.0\.0\.1:\d+\)\] Test alert for the room$/m)
    assert.match(data, /^From: Postern <gate@example\.com>$/m)
    assert.match(data, /^Auto-Submitted: auto-generated$/m)
    assert.ok(data.includes(`Alert settings: ${service.baseUrl}/dashboard/alerts`))
    mail.refuseNext('554 not here')
    const refused = await testOf(made)
    assert.deepEqual([refused.status, refused.attempts], ['failed', 1])
    assert.match(refused.error!, /554 not here/)
  })

  test('Slack, Discord and Teams each get their own format', async () => {
    const bodyFor = async (kind: string): Promise<Record<string, unknown>> => {
      const made = await add({ kind, name: 'the room', url: `${receiver.url}/secret-part?x=1` })
      assert.equal(made.host, new URL(receiver.url).host)
      assert.equal((await testOf(made)).status, 'sent')
      const call = receiver.calls.at(-1)!
      assert.equal(call.path, '/hook/secret-part?x=1')
      assert.equal(call.headers['content-type'], 'application/json')
      return JSON.parse(call.body.toString()) as Record<string, unknown>
    }
    const link = `${service.baseUrl}/dashboard/alerts`
    assert.deepEqual(await bodyFor('slack'), {
      text: `*${text}*\n• ${text} — <${link}|View details>\n${name()}`,
      unfurl_links: false,
      unfurl_media: false,
    })
    const discord = await bodyFor('discord')
    assert.deepEqual(discord['allowed_mentions'], { parse: [] })
    const [embed] = discord['embeds'] as { title: string; url: string; description: string }[]
    assert.deepEqual([embed!.title, embed!.url], [text, link])
    assert.ok(embed!.description.includes(`[View details](${link})`))
    const teams = (await bodyFor('teams')) as {
      type: string
      attachments: { contentType: string; content: { type: string; body: object[]; actions: object[] } }[]
    }
    const [card] = teams.attachments
    assert.deepEqual([teams.type, card!.contentType], ['message', 'application/vnd.microsoft.card.adaptive'])
    assert.deepEqual(card!.content.actions, [{ type: 'Action.OpenUrl', title: 'View details', url: link }])
  })

  test('the address is sealed and never shown; the list has the last message', async () => {
    const made = await add({ kind: 'slack', name: ' ops ', url: `${receiver.url}/T0/very-secret` })
    assert.deepEqual(
      [made.name, made.conditions, made.severity, made.repeatSeconds, made.enabled, made.lastSending],
      ['ops', null, 'warning', 86_400, true, null],
    )
    receiver.answer(503)
    assert.match((await testOf(made)).error!, /it returned HTTP 503/)
    receiver.answer(204)
    await testOf(made)
    const list = await service.admin('/alerts')
    const shown = await list.text()
    assert.ok(!shown.includes('very-secret'))
    const { data } = JSON.parse(shown) as { data: Destination[] }
    assert.equal(data[0]!.lastSending?.status, 'sent')
    const { data: sendings } = await send<{ data: Sending[] }>('GET', `/alerts/${made.id}/sendings`, 200)
    assert.deepEqual(fields(sendings, 'what', 'status'), [
      ['test', 'sent'],
      ['test', 'failed'],
    ])
    const row = await rowIn(service, 'alert_destinations', { id: made.id })
    assert.ok(!Buffer.from(row.target).includes('very-secret'))
    const entries = await service.database.reader
      .selectFrom('audit_log')
      .select(['action', 'detail'])
      .where('target', '=', `alert:${made.id}`)
      .execute()
    assert.ok(entries.length === 3 && !JSON.stringify(entries).includes('very-secret'))
  })

  test('changing and deleting', async () => {
    const made = await add({ kind: 'slack', name: 'ops', url: receiver.url })
    const change = { conditions: ['key-expires'], severity: 'error', repeatSeconds: null, enabled: false }
    const changed = await send<Destination>('PATCH', `/alerts/${made.id}`, 200, change)
    assert.deepEqual({ ...made, ...change, updatedAt: 0 }, { ...changed, updatedAt: 0 })
    await send('PATCH', `/alerts/${made.id}`, 200, { url: `${receiver.url}/other` })
    await testOf(made)
    assert.equal(receiver.calls.at(-1)!.path, '/hook/other')
    await send('PATCH', `/alerts/${made.id}`, 400, { to: ['a@example.com'] })
    await send('DELETE', `/alerts/${made.id}`, 204)
    await send('GET', `/alerts/${made.id}/sendings`, 404)
    await send('PATCH', `/alerts/${made.id}`, 404, change)
  })

  test('bodies that are refused', async () => {
    for (const body of [
      { kind: 'slack', name: 'x' },
      { kind: 'slack', name: 'x', url: 'ftp://example.com' },
      { kind: 'slack', name: 'x', url: 'https://user:secret@example.com' },
      { kind: 'slack', name: 'x', url: receiver.url, to: ['a@example.com'] },
      { kind: 'email', name: 'x', url: receiver.url },
      { kind: 'email', name: 'x', to: [] },
      { kind: 'email', name: 'x', to: ['a@example.com, b@example.com'] },
      { kind: 'email', name: 'x', to: ['a@example.com\r\nBcc: b@example.com'] },
      { kind: 'pager', name: 'x', url: receiver.url },
      { kind: 'slack', name: 'x', url: receiver.url, conditions: ['rain'] },
      { kind: 'slack', name: 'x', url: receiver.url, repeatSeconds: 1 },
    ])
      await send('POST', '/alerts', 400, body)
    const mistyped = { kind: 'email', name: 'x', to: ['nonsense'] }
    const { detail } = await send<{ detail: string }>('POST', '/alerts', 400, mistyped)
    assert.match(detail, /^\/to\/0 must be: An e-mail address, such as ops@example\.com \(pattern \^/)
  })

  test('a running service tells of what GET /attention lists', async () => {
    // Rounds follow one another at once; everything else keeps its times.
    const clock: Clock = {
      now: () => systemClock.now(),
      after: (ms, callback) => systemClock.after(ms === evaluateEvery ? 20 : ms, callback),
    }
    const env = { SMTP_URL: mail.url, MAIL_FROM: 'gate@example.com' }
    await using running = await startTestService(engine, { env, parts: { clock } })
    const to = ['night@example.com']
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    for (const [path, json] of [
      ['/keys', { name: 'ending', scopes: ['operate'], expiresAt }],
      ['/alerts', { kind: 'email', name: 'night', to, conditions: ['key-expires'] }],
    ] as const)
      assert.equal((await running.admin(path, { method: 'POST', json })).status, 201)
    const told = () => mail.mails.find((one) => one.to[0] === to[0])
    await eventually(() => told() !== undefined, 'the mail has arrived')
    assert.match(told()!.data, /^Subject: \[Postern \(.+\)\] API key ending expires on/m)
    assert.ok(told()!.data.includes('/dashboard/system/keys'))
  })

  test('without a mail server and without private networks', async () => {
    await using strict = await startTestService(engine, { env: { ALLOW_PRIVATE_NETWORK: 'false' } })
    const email = { kind: 'email', name: 'x', to: ['a@example.com'] }
    const answer = await strict.admin('/alerts', { method: 'POST', json: email })
    assert.equal(answer.status, 422)
    assert.match(await answer.text(), /SMTP_URL and MAIL_FROM/)
    for (const url of [receiver.url, 'https://127.0.0.1/hook', 'https://169.254.169.254/latest']) {
      const refused = await strict.admin('/alerts', {
        method: 'POST',
        json: { kind: 'slack', name: 'x', url },
      })
      assert.equal(refused.status, 400, url)
    }
  })
})
