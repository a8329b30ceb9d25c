// The calls that pages make with curl exist, and the service knows the fields of their bodies. Those with shown output are also made
// (documented-output.test.ts).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { engines } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { blocksOf, pages } from './documented/blocks.ts'
import { commandLinesOf } from './documented/commands.ts'

interface Schema {
  properties?: Record<string, Schema>
  anyOf?: Schema[]
  additionalProperties?: boolean | Schema
  $ref?: string
}
interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
  components?: { schemas?: Record<string, Schema> }
}

interface Call {
  from: string
  method: string
  path: string
  body?: string
}

/** How pages write the address of the service. */
const address =
  /(?:https?:\/\/(?:127\.0\.0\.1:3000|localhost:3000|gate\.example\.com)|\$\{?(?:BASE_URL|POSTERN|POSTERN_URL|URL)\}?|(?<=\s)BASE_URL)(\/[^\s"'?]*)/

/** What is no part of the API: webhooks, pages, lists of tables that a guide declares. */
const others = /^\/(?:webhooks|portal|dashboard|docs|orders|products|posts|invoices)(?![\w-])|\.csv$|^\/$/

function callIn(line: string, from: string): Call | undefined {
  const [command = ''] = /\bcurl .*/s.exec(line) ?? []
  const [, path] = address.exec(command) ?? []
  if (path === undefined || others.test(path)) return undefined
  const [, , body] = /(?:-d|--data(?:-binary|-raw)?) (['"])(.*?)\1(?=\s|$|\))/s.exec(command) ?? []
  const isHead = /\s-\w*I/.test(command)
  const [, named] = /-X ([A-Z]+)/.exec(command) ?? []
  const method = named ?? (/ (?:-d|--data\S*) /.test(command) ? 'POST' : isHead ? 'HEAD' : 'GET')
  // The guide to mounting has the service below /gate.
  const own = path.replace(/^\/gate(?=\/)/, '')
  return { from, method: method === 'HEAD' ? 'GET' : method, path: own, ...(body !== undefined && { body }) }
}

// Examples have lists and routes of their own, which their tests call.
const calls = pages
  .filter((page) => !page.startsWith('examples/'))
  .flatMap((page) =>
    blocksOf(page).flatMap((block) =>
      commandLinesOf(block).flatMap((line) => callIn(line, block.from) ?? []),
    ),
  )

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.]/g, String.raw`\.`).replaceAll(/\{[^}]*\}/g, '[^/]+')}$`)

/** @returns what is wrong with a call, if anything */
function faultOf({ method, path, body }: Call, document: Document): string | undefined {
  const found = Object.entries(document.paths).find(
    ([known, methods]) =>
      method.toLowerCase() in methods && patternOf(known).test(path.replace(/(.)\/$/, '$1')),
  )
  if (!found) return `no call ${method} ${path}`
  const schema = found[1][method.toLowerCase()]?.requestBody?.content['application/json']?.schema
  if (body === undefined || schema === undefined || !body.startsWith('{')) return undefined
  const known = fieldsOf(schema, document)
  let fields: string[]
  try {
    fields = Object.keys(JSON.parse(body.replaceAll(/'"?\$\w+"?'|\$\w+/g, '0')) as object)
  } catch {
    return `${body} is no JSON`
  }
  const unknown = known && fields.find((field) => !known.has(field))
  return unknown && `${method} ${path} knows no field ${unknown}`
}

/** The names of all fields; `undefined` if any is taken. */
function fieldsOf(schema: Schema, document: Document): Set<string> | undefined {
  const { $ref, anyOf = [], properties = {} } = schema
  if ($ref) return fieldsOf(document.components?.schemas?.[$ref.replace(/^.*\//, '')] ?? {}, document)
  const names = new Set(Object.keys(properties))
  for (const one of anyOf) for (const name of fieldsOf(one, document) ?? []) names.add(name)
  return names.size > 0 ? names : undefined
}

describe('the calls that pages make', () => {
  let service: TestService
  let document: Document
  before(async () => {
    service = await startTestService(engines[0]!)
    document = (await (await service.fetch('/openapi.json')).json()) as Document
  })
  after(() => service.close())

  test('exist, with the fields of their bodies', () => {
    assert.ok(calls.length >= 15, `${calls.length} calls`)
    assert.ok(calls.filter(({ body }) => body?.startsWith('{')).length >= 5)
    const faults = calls.map((call) => [call.from, faultOf(call, document)])
    assert.deepEqual(
      faults.filter(([, fault]) => fault !== undefined),
      [],
    )
  })

  test('and one that does not is found', () => {
    const fault = (line: string) => faultOf(callIn(line, '')!, document)
    assert.equal(fault('curl $BASE_URL/subscriber'), 'no call GET /subscriber')
    assert.equal(
      fault(`curl -X POST $BASE_URL/subscribers -d '{"uri": "https://x.example"}'`),
      'POST /subscribers knows no field uri',
    )
  })
})
