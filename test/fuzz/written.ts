// How a call is written as bytes, and everything that can be wrong with that.
import { flipped } from './bodies.ts'
import type { Call } from './calls.ts'
import type { Chance } from '../harness/chance.ts'

/** The bytes of a call; most of them good HTTP. */
export function write(chance: Chance, call: Call): Buffer {
  const { body } = call
  const headers: [string, string][] = [['host', 'localhost'], ...call.headers]
  let content: Buffer = body ?? Buffer.alloc(0)
  if (body !== undefined || chance.is(0.02)) {
    if (chance.is(0.3)) {
      headers.push(['transfer-encoding', 'chunked'])
      content = chunked(chance, content)
    } else headers.push(['content-length', String(content.length)])
  }
  if (chance.is(0.03)) headers.push(['expect', chance.is(0.8) ? '100-continue' : 'x'])
  const isBroken = chance.is(0.12)
  if (isBroken) breakHeaders(chance, headers, content.length)
  const line = isBroken && chance.is(0.3) ? brokenLine(chance, call) : `${call.method} ${call.path} HTTP/1.1`
  const end = isBroken && chance.is(0.1) ? chance.pick(['\n', '\r', '\r\n\r\n', '']) : '\r\n'
  const head = [line, ...headers.map(([name, value]) => `${name}: ${value}`)].join(end)
  const bytes = Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), content])
  return isBroken && chance.is(0.25) ? flipped(chance, bytes) : bytes
}

function chunked(chance: Chance, body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const size = chance.is(0.1) ? 1 : 1 + chance.below(Math.max(1, body.length))
    const chunk = body.subarray(at, at + size)
    at += chunk.length
    const extension = chance.is(0.05) ? `;${chance.pick(['a', 'a=b', 'a="\\""', 'x'.repeat(300)])}` : ''
    const told = chance.is(0.02)
      ? chance.pick(['-1', 'fffffffffffffffff', '0x5', '', 'g', `${chunk.length}`, '1 '])
      : chunk.length.toString(16)
    parts.push(Buffer.from(`${told}${extension}\r\n`, 'latin1'), chunk, Buffer.from('\r\n'))
  }
  const trailer = chance.is(0.05) ? chance.pick(['x: y\r\n', 'content-length: 5\r\n', ': \r\n']) : ''
  parts.push(
    Buffer.from(chance.is(0.98) ? `0\r\n${trailer}\r\n` : chance.pick(['', '0\r\n', '00000\r\n\r\n'])),
  )
  return Buffer.concat(parts)
}

function breakHeaders(chance: Chance, headers: [string, string][], length: number): void {
  const add = (...all: [string, string][]): void => void headers.push(...all)
  switch (chance.below(12)) {
    case 0:
      return add(['content-length', String(length + chance.below(5) - 2)])
    case 1:
      return add([
        'transfer-encoding',
        chance.pick(['chunked', 'gzip, chunked', 'identity', 'chunked, x', ' ', 'xchunked']),
      ])
    case 2:
      return add([
        'content-length',
        chance.pick(['-1', '1e3', '0x10', '99999999999999999999', '', ' 5', '5, 5', '+1']),
      ])
    case 3:
      return add(
        ...Array.from({ length: chance.below(3_000) }, (): [string, string] => [
          `x${chance.below(9_999)}`,
          '',
        ]),
      )
    case 4:
      return add(['x-large', 'y'.repeat(chance.pick([8_000, 15_000, 16_384, 40_000]))])
    case 5:
      return add([chance.pick(['', ' x', 'x y', 'x\u0000', 'x:', '(', '\xff', '__proto__']), 'value'])
    case 6:
      return add([
        'x-value',
        chance.pick(['\u0000', 'a\rb', 'a\nb: c', '\x7f', '\xff\xfe', '\t\t', ' \r\n folded']),
      ])
    case 7:
      return add(
        ['connection', chance.pick(['close', 'keep-alive', 'upgrade', 'content-length', 'x, close'])],
        ['upgrade', chance.pick(['h2c', 'websocket', 'x'])],
      )
    case 8:
      return add(['host', chance.pick(['', 'evil.example', 'a b', 'localhost:99999', '[::1', '\xff'])])
    case 9:
      headers.shift()
      return
    case 10:
      return add(['content-encoding', chance.pick(['gzip', 'br', 'deflate, gzip', 'x'])])
    default:
      return add(chance.pick(headers), chance.pick(headers))
  }
}

function brokenLine(chance: Chance, { method, path }: Call): string {
  return chance.pick([
    `${method} ${path} HTTP/1.0`,
    `${method} ${path} HTTP/2.0`,
    `${method} ${path} HTTP/9.9`,
    `${method} ${path}`,
    `${method}  ${path}  HTTP/1.1`,
    `${method.toLowerCase()} ${path} HTTP/1.1`,
    `CONNECT localhost:80 HTTP/1.1`,
    `TRACE ${path} HTTP/1.1`,
    `PRI * HTTP/2.0`,
    `OPTIONS * HTTP/1.1`,
    `${method} http://localhost${path} HTTP/1.1`,
    `${method} http://[::1 HTTP/1.1`,
    `${method} ${path}#x HTTP/1.1`,
    `${method} ${path}${'y'.repeat(chance.pick([600, 9_000, 20_000]))} HTTP/1.1`,
    `${method} \\..\\${path} HTTP/1.1`,
    `\u0016\u0003\u0001\u0002`,
    `${method} ${path} HTTP/1.1\r\n${method} ${path} HTTP/1.1`,
    '',
  ])
}
