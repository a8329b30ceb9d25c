import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { embedPortal } from './embed-portal.ts'

// The page is a model here; test/browser shows the frame in Chromium.
const before = new Map<string, PropertyDescriptor | undefined>()
let frame: { src: string; removed: boolean }
const container = { appendChild: (): undefined => undefined }

beforeEach(() => {
  const nothing = (): void => undefined
  frame = { src: '', removed: false }
  const element = Object.assign(frame, {
    style: {},
    addEventListener: nothing,
    remove: () => (frame.removed = true),
  })
  const globals = {
    document: { createElement: () => element },
    location: { origin: 'https://app.example.com' },
    addEventListener: nothing,
    removeEventListener: nothing,
  }
  for (const [name, value] of Object.entries(globals)) {
    before.set(name, Object.getOwnPropertyDescriptor(globalThis, name))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
})
afterEach(() => {
  for (const [name, descriptor] of before)
    if (descriptor) Object.defineProperty(globalThis, name, descriptor)
    else Reflect.deleteProperty(globalThis, name)
})

const turn = (): Promise<void> => new Promise((done) => setImmediate(done))

test('the frame gets the link, with the origin of the page', async () => {
  embedPortal(container, { createLink: async () => 'https://gate.example.com/portal#t' })
  await turn()
  assert.equal(frame.src, 'https://gate.example.com/portal?embedder=https%3A%2F%2Fapp.example.com#t')
})

for (const [what, createLink] of [
  ['is refused', () => Promise.reject(new Error('401'))],
  ['is a page of a sign-in instead of an address', async () => '<!doctype html>'],
  ['is empty', async () => ''],
] as const)
  test(`a link that ${what} removes the frame and is reported`, async (t) => {
    const { mock } = t.mock.method(console, 'error', () => undefined)
    const failures: string[] = []
    embedPortal(container, { createLink, onFailed: (reason) => failures.push(reason) })
    await turn()
    assert.deepEqual(failures, ['no-link'])
    assert.ok(frame.removed)
    assert.equal(mock.calls.length, 1)
    const [text, cause] = mock.calls[0]!.arguments as unknown[]
    assert.match(String(text), /\(no-link\)\. createLink must resolve to the url/)
    assert.ok(cause instanceof Error)
  })

test('a frame that was removed before its link came tells no failure', async (t) => {
  const { mock } = t.mock.method(console, 'error', () => undefined)
  const failures: string[] = []
  const link = Promise.reject(new Error('late'))
  embedPortal(container, { createLink: () => link, onFailed: (reason) => failures.push(reason) })()
  await turn()
  assert.deepEqual([failures, mock.calls.length], [[], 0])
})
