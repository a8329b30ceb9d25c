import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Ran, Sandbox } from './sandbox.ts'
import { checkTransformation } from './transformation.ts'

const sandbox = new Sandbox({ error: assert.fail })
after(() => sandbox.close())

const body = '{"id":"e","timestamp":"2026-01-31T08:30:00.000Z","data":{"name":"Jo"}}'
const webhook = '{"method":"POST","url":"https://a.test/","headers":{},"cancel":false}'

function run(code: string, key = 'a', eventId = 'e'): Promise<Ran> {
  return sandbox.run({ key, code, webhook, body, eventId })
}

/** The payload that the code returns. */
async function value(expression: string, key?: string, eventId?: string): Promise<unknown> {
  const code = `function handler(webhook) { webhook.payload = (${expression}); return webhook }`
  const { payload, error } = await run(code, key, eventId)
  assert.equal(error, undefined)
  return JSON.parse(payload!)
}

test('nothing of the host is there, and the clock is that of the event', async () => {
  const names = [
    'process',
    'require',
    'fetch',
    'setTimeout',
    'performance',
    'Worker',
    'WebAssembly',
    'std',
    'os',
  ]
  assert.deepEqual(
    await value(`[${names.map((name) => `typeof ${name}`).join()}].filter(t => t !== 'undefined')`),
    [],
  )
  const at = Date.parse('2026-01-31T08:30:00.000Z')
  assert.deepEqual(
    await value('[Date.now(), +new Date(), new Date().getTimezoneOffset(), new Date(0).getHours()]'),
    [at, at, 0, 0],
  )
  assert.deepEqual(await value('Function("return Object.keys(globalThis)")()'), ['console', 'handler'])
  const random = (eventId: string): Promise<unknown> => value('[Math.random(), Math.random()]', 'a', eventId)
  assert.deepEqual(await random('one'), await random('one'))
  assert.notDeepEqual(await random('one'), await random('two'))
})

test('hostile code ends with an error, and the next run works', async () => {
  const inside = (code: string): string => `function handler(webhook) { ${code}; return webhook }`
  const cases = [
    'for (;;);',
    inside('for (;;) try { for (;;); } catch {}'),
    inside('/^(a+)+$/.test("a".repeat(40) + "!")'),
    inside('let a = "x"; for (;;) a += a'),
    inside('const a = []; for (;;) a.push(new Uint8Array(1e6))'),
    inside('const a = []; for (;;) try { a.push(new Uint8Array(1e6)) } catch {}'),
    inside('const f = () => f() + 1; f()'),
    inside('let a = []; for (let i = 0; i < 1e5; i++) a = [a]; webhook.payload = a'),
    inside('JSON.parse("[".repeat(1e5) + "]".repeat(1e5))'),
    inside('eval("(".repeat(1e6))'),
    inside('let x = 3n ** 200000n; for (;;) x = x * x % 7n ** 100000n'),
    inside('const a = []; a.length = 4294967295; a.indexOf(3)'),
    inside('throw new Proxy({}, { get() { for (;;); } })'),
    inside('const e = new Error(); Object.defineProperty(e, "message", { get() { for (;;); } }); throw e'),
    inside('throw new Error("x".repeat(1e7))'),
    inside('return new Proxy(webhook, { get() { for (;;); } })'),
    inside('webhook.payload = { toJSON() { for (;;); } }'),
    inside('webhook.payload = webhook'),
    inside('webhook.payload = 1n'),
    inside('webhook.payload = "x".repeat(2e6)'),
    inside('return import("fs")'),
    'async function handler(webhook) { return webhook }',
  ]
  for (const code of cases) {
    const { error } = await run(code)
    assert.ok(error && error.message.length < 600, code)
    assert.equal(await value('webhook.payload.data.name'), 'Jo')
  }
})

test('no run sees anything of another, of the same owner or of another one', async () => {
  await value(
    '[globalThis.left = "secret", Object.prototype.left = "secret", Array.prototype.map = null, JSON.parse = null]',
  )
  for (const key of ['a', 'b'])
    assert.deepEqual(await value('[typeof left, typeof [].left, typeof [].map, typeof JSON.parse]', key), [
      'undefined',
      'undefined',
      'function',
      'function',
    ])
})

test('slow code of one owner delays no other for long', async () => {
  let ended = 0
  const slow = Array.from({ length: 20 }, async () => {
    const ran = await run('for (;;);', 'slow')
    ended += 1
    return ran
  })
  await value('1', 'quick')
  assert.ok(ended < 10, `${ended} slow ones first`)
  for (const { error } of await Promise.all(slow)) assert.ok(error)
})

test('a full queue is no fault of the code', async () => {
  const full = new Sandbox({ error: assert.fail })
  const job = { key: 'a', code: 'function handler(webhook) { return webhook }', webhook, body, eventId: 'e' }
  const runs = Array.from({ length: 2_010 }, () => full.run(job))
  assert.equal((await runs.at(-1))?.error?.notRun, 'overloaded')
  await assert.rejects(checkTransformation(full, job.code, 'a'), { code: 'overloaded' })
  await full.close()
})

test('random programs neither crash the sandbox nor read anything of the host', async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  let state = seed
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const words = [
    'webhook',
    '.payload',
    '.headers',
    '.constructor',
    '.__proto__',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '=',
    '=>',
    ';',
    ',',
    '+',
    '*',
    '1',
    '0n',
    '"a"',
    '`x`',
    '/a+/',
    'function f',
    'return ',
    'throw ',
    'try{',
    '}catch(e){',
    'for(;;)',
    'while(1)',
    'new ',
    'Proxy',
    'Reflect.ownKeys',
    'Function("return this")()',
    'globalThis',
    'eval',
    'Array(1e9)',
    '.repeat(1e7)',
    '.length=1e9',
    'Symbol.iterator',
    'async ',
    'await ',
    'yield ',
    'class A extends ',
    'delete ',
    '...',
    'Object.defineProperty',
    'JSON.stringify',
    'Date',
    'WeakRef',
    'ArrayBuffer',
    '.sort()',
    'import(',
    '\n',
  ]
  const count = Number(process.env['PROGRAMS'] ?? 300)
  for (let index = 0; index < count; index += 1) {
    const code = Array.from({ length: 1 + random(40) }, () => words[random(words.length)]).join('')
    const ran = await run(`function handler(webhook) { ${code} ; return webhook }`, `owner-${random(3)}`)
    const text = JSON.stringify(ran)
    assert.ok(!/node:|file:\/\/|PATH/.test(text), `seed ${seed}, program ${index}: ${code}`)
  }
  assert.equal(await value('webhook.payload.data.name'), 'Jo', `seed ${seed}`)
})
