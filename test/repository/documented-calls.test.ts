// The calls that pages make with curl exist, and the service knows the fields of their bodies. Those with shown output are also made
// (documented-output.test.ts). Blocks of the language http name a call and its body, or show headers; a body in JSON may name its call:
//
//     ```json POST /alerts
//     ```json part of PATCH /subscribers/{id}
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Compile } from 'typebox/schema'
import { engines, startedService } from '../harness/index.ts'
import { blocksOf, pages, type Block } from './documented/blocks.ts'
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

/** What a block of the language http asks for. */
function callOf({ from, language, text, info }: Block): Call | undefined {
  if (language === 'json') {
    const [, method, path] = /^(?:part of )?([A-Z]+) (\/.*)$/.exec(info) ?? []
    return method === undefined
      ? undefined
      : { from, method, path: path!, body: info.startsWith('part') ? `{${text}}` : text }
  }
  const [, method, path, body] = /^([A-Z]+) (\/\S*)\s*([^]*)$/.exec(text) ?? []
  if (language !== 'http' || method === undefined) return undefined
  return { from, method, path: path!, ...(body && { body }) }
}

// Examples have lists and routes of their own, which their tests call.
const calls = pages
  .filter((page) => !page.startsWith('examples/'))
  .flatMap((page) =>
    blocksOf(page).flatMap((block) =>
      commandLinesOf(block)
        .map((line) => callIn(line, block.from))
        .concat(callOf(block))
        .filter((call) => call !== undefined),
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
  // Without what the shell, or the reader, fills in.
  if (!/[$…]/.test(body)) return valueFaultOf(schema, document, body)
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

function valueFaultOf(schema: Schema, document: Document, body: string): string | undefined {
  const whole = (one: unknown): unknown => {
    if (typeof one !== 'object' || one === null) return one
    if (Array.isArray(one)) return one.map(whole)
    const { $ref, ...rest } = one as { $ref?: string }
    if ($ref) return whole(document.components?.schemas?.[$ref.replace(/^.*\//, '')])
    return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, whole(value)]))
  }
  const [, errors] = Compile(whole(schema) as object).Errors(JSON.parse(body))
  return errors.length > 0 ? JSON.stringify(errors) : undefined
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
  let document: Document
  const service = startedService(engines[0]!)
  before(async () => {
    document = (await (await service.fetch('/openapi.json')).json()) as Document
  })

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
    const wrong = fault(
      `curl -X POST $BASE_URL/subscribers -d '{"url": "https://x.example", "rateLimit": "x"}'`,
    )
    assert.match(wrong ?? '', /rateLimit/)
    assert.equal(
      fault(`curl -X POST $BASE_URL/subscribers -d '{"uri": "https://'$NAME'.example"}'`),
      'POST /subscribers knows no field uri',
    )
  })
})
