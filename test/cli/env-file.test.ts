import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { postern } from './command.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const swap = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16()

describe('.env', () => {
  const folder = temporaryFolder()
  const check = (bytes: Buffer | string, ...args: string[]) => {
    writeFileSync(join(folder, '.env'), bytes)
    return postern(folder, ['config', ...(args.length > 0 ? args : ['check'])])
  }

  // The first line decides between demo mode and production. Notepad and PowerShell write the marks.
  const text = 'NODE_ENV=production\r\nBASE_URL=https://gate.example.com\r\n'
  for (const [name, bytes] of Object.entries({
    'UTF-8 with a byte order mark': Buffer.from(`\uFEFF${text}`),
    'UTF-16 with a byte order mark': Buffer.from(`\uFEFF${text}`, 'utf16le'),
    'UTF-16, the other way round': swap(Buffer.from(`\uFEFF${text}`, 'utf16le')),
  }))
    test(`in ${name} is read whole`, async () => {
      const { code, stderr, stdout } = await check(bytes)
      assert.equal(code, 1)
      assert.match(stdout + stderr, /POSTERN_SECRET is missing/, 'as in production')
      assert.doesNotMatch(stdout + stderr, /BASE_URL is missing|is not a setting/)
    })

  for (const [name, bytes, fault] of [
    ['UTF-16 without a mark', Buffer.from(text, 'utf16le'), /\.env cannot be read: it is not text in UTF-8/],
    [
      'bytes that are no text',
      Buffer.from([0x50, 0xff, 0x0a]),
      /\.env cannot be read: it is not text in UTF-8/,
    ],
    [
      'a quote that is not closed',
      'PORT=3000\nBRAND_NAME="unclosed\n',
      /the value of BRAND_NAME in line 2 begins with ", which is not closed/,
    ],
    [
      'a colon for the equals sign',
      '# comment\n\nPORT: 4356\n',
      /line 3 is not a setting\. Write NAME=value/,
    ],
  ] as const)
    test(`with ${name} stops the command`, async () => {
      const { code, stderr } = await check(bytes)
      assert.equal(code, 1)
      assert.match(stderr, fault)
    })

  test('may have comments, blank lines, exports, quotes and values of several lines', async () => {
    const { code, stderr, stdout } = await check(
      '# a comment\n\nexport PORT=4356 # the port\nBRAND_NAME=\'My "shop"\'\nADMIN_API_KEY="a\nvalue: of\nthree lines"\nHOST=127.0.0.1\n',
      'print',
    )
    assert.equal(code, 0, stderr)
    assert.match(stdout, /PORT\s+4356/)
    assert.match(stdout, /My "shop"/)
  })

  test('files of single settings and of data are read alike', async () => {
    writeFileSync(join(folder, 'port'), '\uFEFF4711\n')
    const { stdout } = await check('PORT_FILE=port\n', 'print')
    assert.match(stdout, /PORT\s+4711/)
    writeFileSync(join(folder, 'data.json'), Buffer.from('\uFEFF{"a":1}', 'utf16le'))
    const sent = await postern(folder, [
      'send',
      'http://127.0.0.1:1/webhooks/provider',
      '--secret',
      's',
      '--data',
      '@data.json',
    ])
    assert.doesNotMatch(sent.stderr, /not JSON/)
  })
})
