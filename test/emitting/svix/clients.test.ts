// Svix's libraries as their registries have them call every operation. .ci/run installs those that are not for Node.js.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import { Webhook } from 'svix'
import document from '../../../src/emitting/svix/document/openapi.json' with { type: 'json' }
import { listening, onEachEngine, started } from '../../harness/index.ts'
import { expectJson, startEmitting } from '../harness.ts'
import { startSvixReceiver } from './receiver.ts'

interface Library {
  name: string
  /** The path of its endpoint, which is the language. */
  language: string
  command: readonly string[]
  /** What .ci/run makes; without it the test is skipped. */
  needs: string
  env?: Record<string, string>
}

const root = join(import.meta.dirname, '../../..')
const inCache = (path: string) => join(root, '.cache', path)
const clients = join(import.meta.dirname, 'clients')
const javascript = (name: string): Library => ({
  name: `${name} of npm`,
  language: 'javascript',
  command: [process.execPath, join(clients, 'javascript/client.mjs')],
  needs: join(root, 'node_modules', name),
  env: { SVIX_LIBRARY: name },
})
const python = inCache('svix/bin/python')
const [go, rust, jars] = [inCache('go/svix-client'), inCache('rust/debug/svix-client'), inCache('java/svix')]

const libraries: readonly Library[] = [
  javascript('svix'),
  javascript('svix-1'),
  {
    name: 'svix of PyPI',
    language: 'python',
    command: [python, join(clients, 'python/client.py')],
    needs: python,
  },
  { name: 'the Go module', language: 'go', command: [go], needs: go },
  { name: 'svix of crates.io', language: 'rust', command: [rust], needs: rust },
  {
    name: 'com.svix:svix of Maven Central',
    language: 'java',
    command: ['java', '-cp', join(jars, '*'), join(clients, 'java/Client.java')],
    needs: jars,
  },
]

/** What the open-source server answers; the document has more. */
const openSource = [
  'v1.application.list',
  'v1.application.create',
  'v1.application.get',
  'v1.application.upsert',
  'v1.application.patch',
  'v1.application.delete',
  'v1.authentication.app-portal-access',
  'v1.endpoint.list',
  'v1.endpoint.create',
  'v1.endpoint.get',
  'v1.endpoint.upsert',
  'v1.endpoint.patch',
  'v1.endpoint.delete',
  'v1.endpoint.get-headers',
  'v1.endpoint.set-headers',
  'v1.endpoint.patch-headers',
  'v1.endpoint.get-secret',
  'v1.endpoint.rotate-secret',
  'v1.endpoint.get-stats',
  'v1.endpoint.recover',
  'v1.endpoint.send-example',
  'v1.event-type.list',
  'v1.event-type.create',
  'v1.event-type.get',
  'v1.event-type.upsert',
  'v1.event-type.patch',
  'v1.event-type.delete',
  'v1.health.get',
  'v1.message.list',
  'v1.message.create',
  'v1.message.get',
  'v1.message.expunge-content',
  'v1.message-attempt.list-by-endpoint',
  'v1.message-attempt.list-by-msg',
  'v1.message-attempt.list-attempted-messages',
  'v1.message-attempt.list-attempted-destinations',
  'v1.message-attempt.get',
  'v1.message-attempt.expunge-content',
  'v1.message-attempt.resend',
]

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`

onEachEngine("Svix's libraries", (engine) => {
  const receiver = started(startSvixReceiver)
  const service = started(() => startEmitting(engine))
  /** The libraries that called an operation. */
  const callers = new Map<string, Set<string>>()

  for (const { name, language, command, needs, env } of libraries)
    test(name, { skip: existsSync(needs) ? false : `${needs} is not installed` }, async () => {
      const json = { name, scopes: ['svix'] }
      const made = await expectJson<{ key: string }>(service, 201, '/keys', { method: 'POST', json })
      await using proxy = await startProxy(service.baseUrl, (operation) => {
        const known = callers.get(operation) ?? callers.set(operation, new Set()).get(operation)!
        known.add(name)
      })
      const [program, ...args] = command
      const given = {
        SVIX_URL: proxy.url,
        SVIX_TOKEN: made.key,
        SVIX_RECEIVER: receiver.url,
        SVIX_SECRET: secret,
      }
      const before = receiver.calls.length
      await promisify(execFile)(program!, args, { env: { ...process.env, ...env, ...given } })

      const calls = receiver.calls.slice(before).filter(({ path }) => path === `/${language}`)
      assert.ok(calls.length >= 3, 'two messages, one of them twice')
      for (const { headers, body } of calls)
        new Webhook(secret).verify(body.toString(), headers as Record<string, string>)
      assert.deepEqual(JSON.parse(calls[0]!.body.toString()), { n: 1 })
    })

  test("the tests against a server in npm's package pass as they are", async () => {
    const json = { name: 'tests', scopes: ['svix'] }
    const { key } = await expectJson<{ key: string }>(service, 201, '/keys', { method: 'POST', json })
    const folder = mkdtempSync(join(tmpdir(), 'postern-svix-'))
    try {
      const file = join(folder, 'tests.mjs')
      const input = join(root, 'node_modules/svix/src/KitchenSink.test.ts')
      await build({ input, platform: 'node', output: { file, format: 'esm' }, logLevel: 'silent' })
      const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
      const env = { ...inherited, SVIX_SERVER_URL: service.baseUrl, SVIX_TOKEN: key }
      const { stdout } = await promisify(execFile)(process.execPath, ['--test-reporter=tap', file], { env })
      assert.match(stdout, /^# pass [1-9]\d*$/m)
      assert.match(stdout, /^# skipped 0$/m)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('call every operation of the open-source server, at least two of them each', () => {
    const lacking = openSource.filter((operation) => (callers.get(operation)?.size ?? 0) < 2)
    assert.deepEqual(lacking, [])
  })
})

/** The operation of a request, by the document. */
function operationOf(method: string, path: string): string | undefined {
  for (const [template, methods] of Object.entries(document.paths as Record<string, object>)) {
    const operation = (methods as Record<string, { operationId: string }>)[method.toLowerCase()]
    const form = new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`)
    if (operation && form.test(path)) return operation.operationId
  }
  return undefined
}

/** Passes all requests on, and reports the operations that did not fail. */
function startProxy(
  target: string,
  onOperation: (id: string) => void,
): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const passed = request(new URL(url, target), { method, headers }, (answer) => {
      const operation = operationOf(method, new URL(url, target).pathname)
      if (operation !== undefined && answer.statusCode! < 300) onOperation(operation)
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    passed.on('error', (error) => outgoing.destroy(error))
    incoming.pipe(passed)
  })
  return listening(server)
}
