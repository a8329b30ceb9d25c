import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { translateError } from '../storage/unavailable.ts'
import { createLog } from './log.ts'

test('an error is logged with its causes, without properties that libraries add', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED', token: 'hush' })
  const error = Object.assign(new Error('no answer', { cause }), {
    response: { headers: { authorization: 'hush' } },
  })
  log.error({ err: error }, 'failed')
  const { err } = JSON.parse(lines[0]!) as { err: { message: string; cause: { code: string } } }
  assert.equal(err.message, 'no answer')
  assert.equal(err.cause.code, 'ECONNREFUSED')
  assert.ok(!lines[0]!.includes('hush'))
})

interface Shown {
  message: string
  stack: string
}

test('long texts are cut: of errors, their causes and thrown values, of fields and of the message', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const long = '$&'.repeat(10_000_000)
  const last = (): unknown => {
    const line = lines.at(-1)!
    assert.ok(line.length < 300_000, `${line.length}`)
    assert.ok(line.endsWith('}\n'))
    return JSON.parse(line) as unknown
  }
  log.error({ err: new TypeError(long, { cause: new Error(long) }) }, 'failed')
  const { err } = last() as { err: Shown & { cause: Shown } }
  assert.ok(lines[0]!.length < 40_000, `${lines[0]!.length}`)
  for (const { message, stack } of [err, err.cause]) {
    assert.match(message, /^(\$&){2048}… \(19995904 more characters\)$/)
    assert.match(stack, /more characters\)\n +at .*log\.test\.ts/, 'the frames stay')
  }
  log.error({ err: long }, 'failed')
  assert.match((last() as { err: { message: string } }).err.message, /… \(19995904 more characters\)$/)
  log.error({ err: Object.create(null) as unknown }, 'failed')
  assert.equal((last() as { err: { message: string } }).err.message, '[object Object]')
  log.warn({ event: 7, deep: [{ text: long }] }, long)
  const shown = last() as { event: number; deep: { text: string }[]; msg: string }
  assert.equal(shown.event, 7)
  for (const text of [shown.deep[0]!.text, shown.msg])
    assert.match(text, /^(\$&){4096}… \(19991808 more characters\)$/)
  log.warn({ event: 7, many: Array(100_000).fill('short') }, 'has too much')
  const { level, event, msg, omitted } = last() as Record<string, unknown>
  assert.deepEqual({ level, event, msg }, { level: 40, event: 7, msg: 'has too much' })
  assert.match(String(omitted), /^8\d{5} characters$/)
})

test('a line on standard output cannot control the terminal that it is read at', () => {
  const hostile = 'x\u001b[2J\u007f\u009b31m\u2028\u202e'
  const module = JSON.stringify(new URL('log.ts', import.meta.url).href)
  const script = `const { createLog } = await import(${module}); createLog('info').info({ type: ${JSON.stringify(hostile)} }, 'x')`
  const text = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/)
  assert.equal((JSON.parse(text) as { type: string }).type, hostile)
})

test('an unavailable database is logged without stacks, and a fault of the program with one', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  log.warn({ err: translateError(refused) }, 'could not sweep')
  log.error({ err: new TypeError('x is not a function', { cause: translateError(refused) }) }, 'failed')
  const [outage, fault] = lines.map((line) => (JSON.parse(line) as { err: object }).err)
  assert.deepEqual(outage, {
    type: 'StorageUnavailable',
    message: 'the database is unavailable: connect ECONNREFUSED',
    cause: { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
  })
  assert.match((fault as { stack: string }).stack, /^TypeError: x is not a function\n +at /)
})

test('the process exits when nobody reads its output any more, and its last lines are written when somebody does', async () => {
  const script = `
    import { createLog } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)}
    const log = createLog('info')
    log.info('first')
    process.once('message', () => {
      log.info('last')
      process.exit(7)
    })
    process.send('started')`
  for (const isRead of [true, false]) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text))
    await once(child, 'message')
    if (!isRead) child.stdout!.destroy()
    child.send('exit')
    const kill = setTimeout(() => child.kill('SIGKILL'), 300_000)
    const [code] = (await once(child, isRead ? 'close' : 'exit')) as [number | null]
    clearTimeout(kill)
    assert.equal(code, 7)
    if (isRead) assert.match(output, /"first"[^]+"last"/)
  }
})
