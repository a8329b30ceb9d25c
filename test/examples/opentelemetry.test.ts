// examples/opentelemetry: the official exporter sends the spans of a webhook's whole way to an OTLP receiver.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { registerHooks } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { emit, startEmitting, subscribe } from '../emitting/harness.ts'
import { engines, started, startReceiver, temporaryFolder, webhookSecret } from '../harness/index.ts'
import { childEnvironment } from '../harness/child-environment.ts'
import { mainFile } from '../harness/main-file.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

const folder = join(import.meta.dirname, '../../examples/opentelemetry')
const skip =
  !existsSync(join(folder, 'node_modules/@opentelemetry/sdk-trace-node')) &&
  'the packages of examples/opentelemetry are not installed'

const own = new URL('../../src/telemetry/opentelemetry.ts', import.meta.url).href

interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  traceState?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  status: { code?: number }
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
}

interface Api {
  trace: {
    getTracer(name: string): {
      startActiveSpan<T>(name: string, work: (span: { end(): void }) => T): T
    }
    getActiveSpan(): { spanContext(): { traceId: string; spanId: string } } | undefined
  }
}

/** A receiver of OTLP over HTTP as JSON: https://opentelemetry.io/docs/specs/otlp/#otlphttp */
async function startOtlp() {
  const received: OtlpSpan[] = []
  const read = async (request: IncomingMessage): Promise<void> => {
    const chunks = await request.toArray()
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as {
      resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[]
    }
    for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) received.push(...spans)
  }
  const server = createServer((request, response) => {
    void read(request).then(() =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}'),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const [trace, parent] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']

describe('examples/opentelemetry', { skip }, () => {
  let otlp: Awaited<ReturnType<typeof startOtlp>>
  let api: Api

  before(async () => {
    otlp = await startOtlp()
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = otlp.url
    process.env['OTEL_BSP_SCHEDULE_DELAY'] = '50'
    registerHooks({
      resolve: (specifier, context, next) =>
        specifier === 'postern/opentelemetry' ? { url: own, shortCircuit: true } : next(specifier, context),
    })
    await import(pathToFileURL(join(folder, 'tracing.mjs')).href)
    const path = join(folder, 'node_modules/@opentelemetry/api/build/src/index.js')
    api = (await import(pathToFileURL(path).href)) as Api
  })
  after(() => otlp.server.close())

  const spanOf = (name: string, traceId: string): Promise<OtlpSpan> =>
    eventually(() => otlp.received.find((span) => span.name === name && span.traceId === traceId), name)

  for (const engine of engines)
    describe(engine.name, () => {
      const service = started(() =>
        startEmitting(engine, {
          handlers: {
            'order.*': async (event, context) => {
              await new Promise((resolve) => setTimeout(resolve, 5))
              api.trace.getTracer('mine').startActiveSpan('my work', (span) => {
                context.emit({ type: 'out.one', id: `out-${event.id}`, data: 1 })
                span.end()
              })
            },
            broken: () => {
              throw new Error('no stock')
            },
          },
          env: { HANDLER_RETRY_SCHEDULE: '0', EMIT_RETRY_SCHEDULE: '0,0.05' },
        }),
      )

      test('one trace leads from the sender through handler and delivery, also in a retry', async () => {
        const receiver = await startReceiver(500, 204)
        await subscribe(service, { url: receiver.url, eventTypes: ['out.one'] })
        const traceId = trace.replace('4b', engine.name === 'sqlite' ? 'aa' : 'bb')
        const headers = { traceparent: `00-${traceId}-${parent}-01`, tracestate: 'vendor=a, other=b' }
        assert.equal((await postWebhook(service, { id: 'one', type: 'order.paid' }, headers)).status, 200)
        const calls = await receiver.waitFor(2)
        await receiver.close()
        const verify = await spanOf('postern verify', traceId)
        assert.deepEqual([verify.parentSpanId, verify.kind], [parent, 2])
        const [commit, handle, mine, emitted] = [
          await spanOf('postern commit', traceId),
          await spanOf('postern handle', traceId),
          await spanOf('my work', traceId),
          await spanOf('postern emit', traceId),
        ]
        assert.equal(commit.parentSpanId, verify.spanId)
        assert.equal(handle.parentSpanId, verify.spanId)
        assert.equal(mine.parentSpanId, handle.spanId, 'the span of the handler is a child')
        assert.equal(emitted.parentSpanId, mine.spanId)
        const attempts = await eventually(() => {
          const found = otlp.received.filter(
            (span) => span.name === 'postern attempt' && span.traceId === traceId,
          )
          return found.length === 2 ? found : undefined
        })
        for (const [index, { headers: sent }] of calls.entries()) {
          assert.equal(attempts[index]!.parentSpanId, emitted.spanId)
          assert.equal(sent['traceparent'], `00-${traceId}-${attempts[index]!.spanId}-01`)
          assert.equal(sent['tracestate'], 'vendor=a,other=b')
        }
        assert.deepEqual(
          attempts.map(({ status }) => status.code ?? 0),
          [2, 0],
        )
        const metrics = await service.admin('/metrics', {
          headers: { accept: 'application/openmetrics-text; version=1.0.0' },
        })
        assert.match(metrics.headers.get('content-type')!, /^application\/openmetrics-text/)
        const text = await metrics.text()
        for (const [name, label, span] of [
          ['webhook', 'source="provider"', commit],
          ['handler_attempt', 'outcome="processed"', handle],
          ['delivery_attempt', 'outcome="delivered"', attempts[1]!],
        ] as const)
          assert.match(
            text,
            new RegExp(
              `^postern_${name}_seconds_bucket\\{le="[0-9.]+",${label}\\} 1 # \\{trace_id="${traceId}",span_id="${span.spanId}"\\} `,
              'm',
            ),
          )
        assert.ok(text.endsWith('# EOF\n'))
        const plain = await (await service.admin('/metrics')).text()
        assert.doesNotMatch(plain, /trace_id/)
      })

      test('without a traceparent, and with a malformed one, the webhook begins a trace', async () => {
        for (const [index, traceparent] of [null, `00-${'0'.repeat(32)}-${parent}-01`, 'x'].entries()) {
          const id = `own-${index}`
          const body = { id, type: 'broken' }
          assert.equal((await postWebhook(service, body, { traceparent })).status, 200)
          const handle = await eventually(() =>
            otlp.received.find(
              ({ name, attributes }) =>
                name === 'postern handle' && attributes.some(({ value }) => value.stringValue === id),
            ),
          )
          assert.equal(handle.status.code, 2)
          const verify = await spanOf('postern verify', handle.traceId)
          assert.equal(verify.parentSpanId ?? '', '')
          assert.equal(handle.parentSpanId, verify.spanId)
        }
      })

      test('POST /events continues the trace of its caller', async () => {
        const receiver = await startReceiver(204)
        await subscribe(service, { url: receiver.url, eventTypes: ['by.call'] })
        await emit(service, { type: 'by.call', data: 1 })
        const [call] = await receiver.waitFor(1)
        await receiver.close()
        const [, traceId, spanId] = call!.headers['traceparent']!.toString().split('-')
        assert.equal((await spanOf('postern attempt', traceId!)).spanId, spanId)
        assert.equal((await spanOf('postern emit', traceId!)).parentSpanId ?? '', '')
      })

      test('an array and lines of POST /events have one span each, of which all attempts are children', async () => {
        const receiver = await startReceiver()
        await subscribe(service, { url: receiver.url, eventTypes: ['by.many'] })
        const event = { type: 'by.many', data: 1 }
        const lines = `${JSON.stringify(event)}\n{"type":1}\n${JSON.stringify(event)}\n`
        for (const [index, [type, body]] of (
          [
            ['application/json', JSON.stringify([event, event])],
            ['application/x-ndjson', lines],
          ] as const
        ).entries()) {
          const traceId = trace.replace('4b', `${index}${engine.name === 'sqlite' ? 'c' : 'd'}`)
          const headers = { 'content-type': type, traceparent: `00-${traceId}-${parent}-01` }
          const response = await service.admin('/events', { method: 'POST', headers, body })
          assert.ok(response.ok)
          await response.text()
          const calls = (await receiver.waitFor(2 * (index + 1))).slice(-2)
          const span = await spanOf('postern emit', traceId)
          assert.equal(span.parentSpanId, parent)
          assert.deepEqual(
            span.attributes.filter(({ key }) => key === 'messaging.batch.message_count'),
            [{ key: 'messaging.batch.message_count', value: { intValue: 2 } }],
          )
          for (const { headers: sent } of calls) {
            const attempt = await eventually(() =>
              otlp.received.find(({ spanId }) => sent['traceparent']?.toString().includes(spanId)),
            )
            assert.deepEqual([attempt.traceId, attempt.parentSpanId], [traceId, span.spanId])
          }
          const all = otlp.received.filter((one) => one.name === span.name && one.traceId === traceId)
          assert.equal(all.length, 1)
        }
        await receiver.close()
      })
    })

  test('what is open and what is queued at SIGTERM reaches the exporter', async () => {
    await using receiver = await startReceiver()
    const home = temporaryFolder()
    const config = join(home, 'config.mjs')
    await writeFile(
      config,
      `import { setTimeout } from 'node:timers/promises'
       export default { receiving: { handlers: {
         quick: (event, { emit }) => emit({ type: 'out.last', data: 1 }),
         slow: async () => {
           console.log('it runs')
           await setTimeout(700)
         },
       } } }`,
    )
    const hooks = `import { registerHooks } from 'node:module'
      registerHooks({ resolve: (specifier, context, next) => specifier === 'postern/opentelemetry'
        ? { url: ${JSON.stringify(own)}, shortCircuit: true } : next(specifier, context) })`
    const imports = [
      `data:text/javascript,${encodeURIComponent(hooks)}`,
      pathToFileURL(join(folder, 'tracing.mjs')).href,
    ]
    const key = 'key-of-the-traced-process'
    const child = spawn(
      process.execPath,
      [...imports.map((module) => `--import=${module}`), mainFile, 'serve'],
      {
        cwd: home,
        env: {
          ...childEnvironment(),
          HOME: home,
          PORT: '0',
          POSTERN_CONFIG: config,
          ADMIN_API_KEY: key,
          WEBHOOK_SECRET: webhookSecret,
          EMIT_ALLOWED_NETWORKS: '127.0.0.0/8',
          OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
          OTEL_BSP_SCHEDULE_DELAY: '600000',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    try {
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
      const baseUrl = await eventually(
        () => /"address":"([^"]+)"[^\n]*"ready"/.exec(output)?.[1],
        'it starts',
      )
      const service = { fetch: (path: string, init?: RequestInit) => fetch(baseUrl + path, init) }
      const added = await service.fetch('/subscribers', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url: receiver.url, eventTypes: ['out.last'] }),
      })
      assert.equal(added.status, 201, await added.text())
      const [queued, open] = [trace.replace('4b', 'e0'), trace.replace('4b', 'e1')]
      const post = async (id: string, type: string, traceId: string): Promise<void> => {
        const headers = { traceparent: `00-${traceId}-${parent}-01` }
        assert.equal((await postWebhook(service, { id, type }, headers)).status, 200)
      }
      await post('quick', 'quick', queued)
      await receiver.waitFor(1)
      await post('slow', 'slow', open)
      await eventually(() => output.includes('it runs'))
      assert.ok(!otlp.received.some(({ traceId }) => traceId === queued))
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
      const namesOf = (traceId: string): string[] =>
        otlp.received
          .filter((span) => span.traceId === traceId)
          .map(({ name }) => name.replace('postern ', ''))
          .toSorted()
      assert.deepEqual(namesOf(queued), ['attempt', 'commit', 'emit', 'handle', 'verify'])
      assert.deepEqual(namesOf(open), ['commit', 'handle', 'verify'])
      const handle = otlp.received.find(({ name, traceId }) => name === 'postern handle' && traceId === open)!
      assert.ok(Number(handle.endTimeUnixNano) - Number(handle.startTimeUnixNano) > 600e6, 'it was open')
    } finally {
      child.kill('SIGKILL')
    }
  })
})
