// Runs calls.txt against a server with Svix's API: Svix's own (record.ts) or Postern. A line of it is
//   METHOD /path [@header=value]... [body] [-> name=path,...] [until path=value]
// `{name}` stands for a value that an earlier line took from its answer, a `~` in a header's value for a blank. The body is JSON, or after a
// quote any text. `until` repeats the call until the answer has the value.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a server answered to one line, with ids, times and secrets replaced by names that are the same in every run. */
export interface Answer {
  call: string
  status: number
  body: unknown
}

export interface Target {
  /** Without `/api/v1`. */
  url: string
  token: string
  /** The URL of a receiver that returns 500 at `/fail`, and 200 with `{"ok":true}` at every other path. */
  receiver: string
  /** Called with each value that a line saves from its response. */
  onSaved?(name: string, value: string): Promise<void>
  /** Milliseconds to wait for the value after `until`. Default: 30,000. */
  limitMs?: number
}

interface Call {
  line: string
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
  saves: [name: string, path: string][]
  until: [path: string, value: string] | undefined
}

const form =
  /^(?<method>[A-Z]+) (?<path>\S+)(?<headers>(?: @\S+)*)(?: (?<body>['{[].*?))?(?: -> ?(?<saves>[\w=.,]+(?: \w+=[\w.]+)*))?(?: until (?<until>\S+))?(?: -> (?<late>\S+))?$/
const PAUSE_MS = 50

/** The lines of calls.txt that are calls. */
export function readCalls(): Call[] {
  const lines = readFileSync(join(import.meta.dirname, 'calls.txt'), 'utf8').split('\n')
  return lines.filter((line) => /^[A-Z]/.test(line)).map(parse)
}

function parse(line: string): Call {
  const parts = form.exec(line)?.groups
  assert.ok(parts, line)
  const pairs = (text: string | undefined, separator: RegExp) =>
    (text?.split(separator) ?? []).filter(Boolean).map((one) => {
      const at = one.indexOf('=')
      return [one.slice(0, at), one.slice(at + 1)] as [string, string]
    })
  const headers = pairs(parts['headers'], /\s*@/).map(([name, value]) => [name, value.replaceAll('~', ' ')])
  return {
    line,
    method: parts['method']!,
    path: parts['path']!,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: parts['body']?.replace(/^'/, ''),
    saves: pairs(parts['saves'] ?? parts['late'], /[, ]/),
    until: pairs(parts['until'], /,/)[0],
  }
}

/** The answers to all calls, one after the other. */
export async function runCalls(target: Target): Promise<Answer[]> {
  const values = new Map([
    ['receiver', target.receiver],
    ['hourAgo', new Date(Date.now() - 3_600_000).toISOString()],
  ])
  const normalise = normaliser(target.receiver)
  const answers: Answer[] = []
  for (const call of readCalls()) {
    const { status, body } = await answerOf(target, call, values)
    // Lists are in the order of creation, to the millisecond.
    if (call.method !== 'GET') await sleep(2)
    for (const [name, path] of call.saves) {
      const value = at(body, path)
      values.set(name, typeof value === 'string' ? value : 'none')
      await target.onSaved?.(name, values.get(name)!)
    }
    answers.push({ call: call.line, status, body: normalise(body) })
  }
  return answers
}

async function answerOf(
  { url, token, limitMs = 180_000 }: Target,
  { method, path, headers, body, until }: Call,
  values: ReadonlyMap<string, string>,
): Promise<{ status: number; body: unknown }> {
  const fill = (text: string) =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole)
  const sent = new Headers({ authorization: `Bearer ${token}` })
  if (body !== undefined) sent.set('content-type', 'application/json')
  for (const [name, value] of Object.entries(headers))
    if (value === 'none') sent.delete(name)
    else sent.set(name, fill(value))
  const init = { method, headers: sent, ...(body !== undefined && { body: fill(body) }) }
  const started = performance.now()
  for (;;) {
    const response = await fetch(`${url}/api/v1${fill(path)}`, init)
    const text = await response.text()
    const answer = { status: response.status, body: parsed(text) }
    if (!until || String(at(answer.body, until[0])) === until[1]) return answer
    if (performance.now() - started > limitMs) return answer
    await sleep(PAUSE_MS)
  }
}

/** Parses JSON. Returns `null` for an empty text, and any other text that is not JSON as it is. */
function parsed(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce((inner: unknown, key) => (inner as Record<string, unknown> | null)?.[key], value)

/** Values that no two servers share, by the name of their field. */
const ownValues = new Set(['iterator', 'prevIterator', 'token', 'responseDurationMs'])

/** @returns a function that replaces ids, times, secrets and addresses: the first application becomes `app_1` */
function normaliser(receiver: string): (value: unknown) => unknown {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const nameOf = (prefix: string, found: string): string => {
    if (!names.has(found)) {
      counts.set(prefix, (counts.get(prefix) ?? 0) + 1)
      names.set(found, `${prefix}_${counts.get(prefix)}`)
    }
    return names.get(found)!
  }
  const text = (value: string) =>
    value
      .replaceAll(receiver, 'http://receiver')
      .replace(/\b(app|ep|msg|atmpt|qtask|whsec)_(?:o-[\w-]+|[\w+/=-]{20,})/g, (found, prefix: string) =>
        nameOf(prefix, found),
      )
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g, 'TIME')
      .replace(/^https?:(?!\/\/receiver).*/s, 'URL')
  const all = (value: unknown, key = ''): unknown => {
    if (ownValues.has(key) && value !== null) return key.toUpperCase()
    if (typeof value === 'string') return text(value)
    // The server keeps lists of texts as sets.
    if (Array.isArray(value)) {
      const items = value.map((item): unknown => all(item))
      return key !== 'loc' && items.every((item) => typeof item === 'string') ? items.toSorted() : items
    }
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(fields.map(([name, inner]) => [name, all(inner, name)]))
  }
  return all
}
