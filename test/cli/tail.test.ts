import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import { adminKey, engines, listening, startedService } from '#test/harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { postern, startPostern } from './command.ts'

describe('postern tail', () => {
  const service = startedService(engines[0]!, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0' },
    config: {
      receiving: {
        handlers: {
          'order.failed': () => {
            throw new Error('no')
          },
        },
      },
    },
  }))

  const emit = (id: string, type: string): Promise<Response> =>
    service.admin('/events', { method: 'POST', json: { id, type, data: 1 } })
  function follow(url: string, ...args: string[]) {
    const options = ['tail', '--url', url, '--key', adminKey, ...args]
    const { child, ended } = startPostern(tmpdir(), options, { FORCE_COLOR: '0' })
    const output = { out: '', err: '' }
    child.stdout!.on('data', (chunk: Buffer) => (output.out += chunk.toString()))
    child.stderr!.on('data', (chunk: Buffer) => (output.err += chunk.toString()))
    return {
      output,
      async end(): Promise<void> {
        child.kill('SIGINT')
        assert.equal((await ended).code, 0, output.err)
      },
    }
  }

  test('prints events as they arrive, filtered, as NDJSON; ends with 0 on Ctrl-C', async () => {
    await emit('old', 'order.paid')
    const all = follow(service.baseUrl, '--since', '1h')
    const orders = follow(service.baseUrl, '--type', 'order.*', '--since', '1h', '--json')
    await eventually(() => all.output.out.includes('old') && orders.output.out.includes('old'))
    await emit('one', 'order.sent')
    await emit('two', 'user.created')
    await emit('three', 'order.paid')
    await eventually(() => orders.output.out.includes('three') && all.output.out.includes('three'))
    assert.match(all.output.out, /Z {2}unsubscribed {2}user\.created {2}two {2}emitted\n/)
    const lines = orders.output.out.trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { eventId: string }).eventId),
      ['old', 'one', 'three'],
    )
    await all.end()
    await orders.end()
  })

  test('--status prints an event when it gets the status, however old it is', async () => {
    const failed = follow(service.baseUrl, '--status', 'failed', '--json', '--since', '1h')
    const body = JSON.stringify({ id: 'f1', type: 'order.failed' })
    await postWebhook(service, body)
    for (const id of ['later-1', 'later-2']) await emit(id, 'order.paid')
    await eventually(() => failed.output.out.includes('"f1"'))
    assert.equal(failed.output.out.trimEnd().split('\n').length, 1)
    assert.equal((JSON.parse(failed.output.out) as { status: string }).status, 'failed')
    await failed.end()
  })

  test('tells when the service goes away and comes back, and misses nothing', async () => {
    let away = false
    const proxy = createServer((request, response) => {
      if (away) {
        response.writeHead(503).end()
        return
      }
      fetch(new URL(request.url!, service.baseUrl), {
        headers: { authorization: request.headers.authorization! },
      }).then(
        async (answer) => response.writeHead(answer.status).end(await answer.text()),
        () => response.destroy(),
      )
    })
    await using opened = await listening(proxy)
    const tail = follow(opened.url, '--json', '--since', '1h')
    await eventually(() => tail.output.out.includes('"old"'))
    away = true
    await eventually(() => tail.output.err.includes('trying again until Ctrl-C'))
    await emit('meanwhile', 'order.paid')
    away = false
    await eventually(() => tail.output.out.includes('meanwhile'))
    // The other stream may arrive later.
    await eventually(() => tail.output.err.includes('is available again'))
    assert.match(tail.output.err, /503; trying again until Ctrl-C\n[^\n]* is available again\n$/)
    await tail.end()
  })

  test('what a service answers cannot control the terminal', async () => {
    const hostile = 'x\u001b[2J\u001b]0;title\u0007\u009b31m\n\u202e'
    const fields = ['eventId', 'type', 'direction', 'source', 'status', 'createdAt']
    const event = { id: 1, ...Object.fromEntries(fields.map((name) => [name, `${name} ${hostile}`])) }
    const server = createServer((_request, response) =>
      response.end(JSON.stringify({ data: [event], nextCursor: null })),
    )
    await using opened = await listening(server)
    const tail = follow(opened.url, '--since', '1h')
    await eventually(() => tail.output.out.includes('createdAt') && tail.output.out.includes('eventId'))
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(tail.output.out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/)
    await tail.end()
  })

  test('a refused key and a wrong time end it with a reason', async () => {
    const problem = { code: 'not-signed-in', title: 'No credentials', advice: 'Sign in.', requestId: 'r1' }
    const server = createServer((_request, response) => response.writeHead(401).end(JSON.stringify(problem)))
    await using opened = await listening(server)
    const refused = await postern(tmpdir(), ['tail', '--url', opened.url, '--key', 'pk_wrong'])
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /the API key \(401 not-signed-in: No credentials\. Sign in\. Request ID: r1\): pass --key/,
    )
    const wrong = await postern(tmpdir(), ['tail', '--since', 'noon'])
    assert.deepEqual([wrong.code, wrong.stderr], [2, '--since takes 30s, 10m, 2h, 1d or a time, not noon\n'])
  })
})
