// A migration guide's program moves subscribers from a server that answers as Convoy's does. Receivers still verify with their old
// secrets.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { Webhook } from 'svix'
import { adminKey, engines, listening, started, startTestService, temporaryFolder } from '../harness/index.ts'
import { type ReceivedCall, startReceiver } from '../harness/receiver.ts'
import type { AnswerTo } from '../harness/answers.ts'

const root = join(import.meta.dirname, '../..')
const key = 'a key of the other product'

type Subscriber = AnswerTo<'GET /subscribers/{id}'>

/** Answers GETs by path, of requests with the key. Without the query; a function gets it. */
function serve(answers: Record<string, unknown>): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const answer = answers[pathname]
    const isAllowed = request.headers.authorization === `Bearer ${key}`
    const body =
      typeof answer === 'function' ? (answer as (query: URLSearchParams) => unknown)(searchParams) : answer
    response.writeHead(!isAllowed ? 401 : body === undefined ? 404 : 200, {
      'content-type': 'application/json',
    })
    response.end(JSON.stringify(body ?? {}))
  })
  return listening(server)
}

describe('the programs of the migration guides', () => {
  const folder = temporaryFolder()
  let receiver: string

  const service = started(() => startTestService(engines[0]!, { env: { ALLOW_PRIVATE_NETWORK: 'true' } }))
  const target = started(() => startReceiver())
  before(async () => {
    receiver = new URL(target.url).origin
  })

  /** Runs the program of a page. Returns its lines. */
  async function run(page: string, env: Record<string, string>): Promise<string[]> {
    const text = readFileSync(join(root, page), 'utf8')
    const code = /^```ts\n(\/\/ move-\w+\.ts\n[^]*?)^```$/m.exec(text)![1]!
    for (const line of /move-\w+\.ts\n((?:[^`\n]+\n)+)```/.exec(text)![1]!.trim().split('\n'))
      assert.ok(code.includes(`\`${line.split(': ')[0]}: `), `the program prints no such line: ${line}`)
    const file = join(folder, 'program.mts')
    writeFileSync(file, code)
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', file], {
      env: { POSTERN_URL: service.baseUrl, POSTERN_KEY: adminKey, ...env },
    })
    return stdout.trim().split('\n')
  }

  async function subscribersOf(owner: string): Promise<Subscriber[]> {
    const answer = await service.admin(`/subscribers?owner=${owner}`)
    return ((await answer.json()) as { data: Subscriber[] }).data
  }

  /** Emits an event for an owner. Returns its delivery. */
  async function delivered(audience: string): Promise<ReceivedCall> {
    const event = { type: 'order.paid', data: { order: 1 }, audience }
    const before = target.calls.length
    assert.equal((await service.admin('/events', { method: 'POST', json: event })).status, 202)
    return (await target.waitFor(before + 1)).at(-1)!
  }

  test('Convoy: endpoints move disabled, with the types of their subscriptions and the same key', async () => {
    const old = 'a text as secret'
    const at = '/api/v1/projects/p1'
    const page = (content: object[], next?: string) => ({
      status: true,
      message: '',
      data: { content, pagination: { has_next_page: next !== undefined, next_page_cursor: next ?? '' } },
    })
    const endpoint = (uid: string, more: object) => ({ uid, url: `${receiver}/${uid}`, name: uid, ...more })
    const first = endpoint('e1', {
      owner_id: 'globex',
      secrets: [
        { value: 'an expired secret', expires_at: '2026-01-01T00:00:00Z' },
        { value: old, expires_at: null },
      ],
      http_timeout: 20,
      rate_limit: 10,
      rate_limit_duration: 5,
      authentication: { type: 'api_key', api_key: { header_name: 'x-key', header_value: 'secret' } },
    })
    await using convoy = await serve({
      [`${at}/subscriptions`]: page([
        {
          endpoint_metadata: { uid: 'e1' },
          filter_config: { event_types: ['order.paid'], filter: { body: {} } },
        },
        {
          endpoint_metadata: { uid: 'e2' },
          filter_config: { event_types: ['*'], filter: { body: { a: 1 } } },
        },
      ]),
      [`${at}/endpoints`]: (query: URLSearchParams) =>
        query.get('next_page_cursor') === 'more'
          ? page([endpoint('e2', { secrets: [{ value: 'short' }] })])
          : page([first], 'more'),
    })
    const env = { CONVOY_URL: convoy.url, CONVOY_KEY: key, CONVOY_PROJECT: 'p1' }
    assert.deepEqual(await run('docs/migrating/convoy.md', env), [
      `moved: globex ${receiver}/e1`,
      `has a filter, write it as conditions: e2 ${receiver}/e2`,
      `gets a new secret: e2 ${receiver}/e2`,
      `moved: e2 ${receiver}/e2`,
    ])
    const [moved] = await subscribersOf('globex')
    assert.deepEqual(
      [moved!.status, moved!.eventTypes, moved!.rateLimit, moved!.timeout, moved!.headers],
      ['disabled', ['order.paid'], 2, 20, { 'x-key': '[redacted]' }],
    )
    const enable = { method: 'PATCH', json: { status: 'active' } }
    assert.equal((await service.admin(`/subscribers/${moved!.id}`, enable)).status, 200)
    const { headers, body } = await delivered('globex')
    assert.equal(headers['x-key'], 'secret')
    new Webhook(old, { format: 'raw' }).verify(body, headers as Record<string, string>)
  })
})
