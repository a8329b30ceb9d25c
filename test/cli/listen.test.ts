// What others send to a command ends up in a terminal: it shows what is verified, and never commands the terminal.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { freePort } from '../harness/free-port.ts'
import { eventually } from '../receiving/harness.ts'
import { postern, startPostern } from './command.ts'

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, yes').toString('base64')}`
/** Clears the screen, sets the title, copies to the clipboard (OSC 52), a C1 introducer, DEL, and text that runs backwards. */
const hostile = '\u001b[2J\u001b]0;title\u0007\u001b]52;c;ZXZpbA==\u0007\u009b31m\u007f\u202eevil\u2066\u200f'
// oxlint-disable-next-line no-control-regex
const commands = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

async function listening(): Promise<{
  url: string
  printed: () => string
  end: () => Promise<void>
}> {
  const port = String(await freePort())
  const { child, ended } = startPostern(tmpdir(), ['listen', '--secret', secret, '--port', port])
  let printed = ''
  let told = ''
  child.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  child.stderr!.on('data', (chunk: Buffer) => (told += chunk.toString()))
  await eventually(() => told.includes('listening on'))
  return {
    url: `http://127.0.0.1:${port}/`,
    printed: () => printed,
    async end() {
      child.kill('SIGINT')
      await ended
    },
  }
}

function signed(id: string, body: string): Record<string, string> {
  const at = new Date()
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
}

test('postern listen prints verified webhooks escaped, and one line without the body for others', async () => {
  const { url, printed, end } = await listening()
  try {
    const post = async (body: string, headers: Record<string, string>, method = 'POST'): Promise<number> => {
      const response = await fetch(url, { method, headers, ...(method === 'POST' && { body }) })
      await response.arrayBuffer()
      return response.status
    }
    // JSON escapes the first of them by itself, and leaves the others as they are.
    const good = JSON.stringify({ type: 'a', data: hostile })
    assert.equal(await post(good, signed('msg_1', good)), 204)
    await eventually(() => printed().includes('msg_1'))
    assert.match(
      printed(),
      /verified {2}msg_1 {2}signed at \d+\n\{"type":"a","data":"\\u001b\[2J.*\\u009b31m\\u007f\\u202eevil/,
    )

    const forged = `forged ${hostile}`
    assert.equal(await post(forged, { 'content-type': 'text/plain' }), 401)
    assert.equal(await post(forged, { ...signed('msg_2', good), 'webhook-id': '\u009bforged' }), 401)
    const page = { ...signed('msg_3', good), origin: 'https://evil.example' }
    assert.equal(await post(good, page), 403, 'a page cannot even send what it has seen elsewhere')
    assert.equal(await post(good, { ...signed('msg_4', good), 'sec-fetch-site': 'cross-site' }), 403)
    assert.equal(await post('', {}, 'GET'), 405)
    assert.equal(await post('x'.repeat(1_048_577), signed('msg_5', good)), 413)
    await eventually(() => printed().split('\n').length >= 9)
    const lines = printed().trimEnd().split('\n').slice(2)
    assert.equal(lines.length, 6)
    for (const line of lines) assert.match(line, /^\S+ {2}NOT VERIFIED, rejected with 4\d\d: [\x20-\x7e]+$/)
    assert.doesNotMatch(printed(), commands)
    assert.doesNotMatch(printed(), /forged|xxxx/)
  } finally {
    await end()
  }
})

test('an invalid secret is reported at the start', async () => {
  const { code, stderr } = await postern(tmpdir(), ['listen', '--secret', 'whsec_!', '--port', '0'])
  assert.equal(code, 2)
  assert.match(stderr, /^--secret: /)
})

test('postern send prints the beginning of the response, escaped', async () => {
  const server = createServer((_request, response) =>
    response.writeHead(500).end(`${hostile}\nsecond line ${'x'.repeat(100_000)}`),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { code, stdout } = await postern(tmpdir(), ['send', url, '--secret', 'a-secret-0123456789'])
    assert.equal(code, 1)
    assert.doesNotMatch(stdout, commands)
    assert.match(stdout, /^500 \\u001b\[2J/)
    assert.equal(stdout.trimEnd().split('\n').length, 1)
    assert.ok(stdout.length < 5_000)
    // A failure is told with the remote text, too.
    const refused = await postern(tmpdir(), ['listen', '--port', '0', '--url', url, '--key', 'pk_x'])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /\/subscribers returned HTTP 500 \\u001b/)
    assert.doesNotMatch(refused.stderr, commands)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
