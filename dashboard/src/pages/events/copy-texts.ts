import { addressOf } from '../../api/client.ts'
import type { LoadedEvent } from './use-event.ts'

/** A text within single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command that brings the event again: to its source with a signature of its own, or as an emitted event. */
export function asCurl({ event, payload }: LoadedEvent): string {
  const body = payload ?? ''
  if (event.direction === 'emitted')
    return [
      `curl -X POST ${addressOf('/events')}`,
      '  -H "Authorization: Bearer $POSTERN_KEY"',
      "  -H 'Content-Type: application/json'",
      `  -d ${quoted(emittedBody(event.type, body))}`,
    ].join(' \\\n')
  const lines = [
    `curl -X POST ${addressOf(`/webhooks/${event.source ?? ''}`)}`,
    `  -H ${quoted(`Content-Type: ${event.contentType}`)}`,
  ]
  // The source `provider` signs as every sender of its kind: HMAC-SHA256 of the body in hexadecimal.
  if (event.source === 'provider') {
    const signature = `printf %s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -hex | sed 's/.* //'`
    return [
      `BODY=${quoted(body)}`,
      [...lines, `  -H "X-Signature: $(${signature})"`, '  --data-binary "$BODY"'].join(' \\\n'),
    ].join('\n')
  }
  const note = `# The source verifies by ${event.verification?.scheme ?? 'its scheme'}: add the sender's signature.`
  return [note, [...lines, `  --data-binary ${quoted(body)}`].join(' \\\n')].join('\n')
}

/** Stands before the data, the last field of what subscribers get. No string of JSON contains it unescaped. */
const beforeData = ',"data":'

/** Copies the text of the data, because parsing it would round numbers beyond 2^53. */
function emittedBody(type: string, payload: string): string {
  const at = payload.indexOf(beforeData)
  const data = at === -1 ? 'null}' : payload.slice(at + beforeData.length)
  return `{"type":${JSON.stringify(type)},"data":${data}`
}

/** A test of the handler with the kit of `postern/testing`. */
export function asTest({ event, payload = '{}' }: LoadedEvent): string {
  const { id: _id, type: _type, data, ...others } = parse(payload)
  const webhook = JSON.stringify({ type: event.type, data: data ?? others }, undefined, 2)
  return `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestKit } from 'postern/testing'
import config from './postern.config.ts'

test(${JSON.stringify(`handles ${event.type}`)}, async () => {
  const kit = await startTestKit(config)
  try {
    const result = await kit.receive(${JSON.stringify(event.source)}, ${webhook.replaceAll('\n', '\n    ')})
    assert.equal(result.status, 'processed', result.error)
  } finally {
    await kit.close()
  }
})
`
}

function parse(payload: string): Record<string, unknown> {
  try {
    const value = JSON.parse(payload) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
