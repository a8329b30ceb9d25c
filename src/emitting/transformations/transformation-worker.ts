// The thread that runs transformations, each in a new context of QuickJS, which is compiled to WebAssembly.
import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import variant from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import type { Job, Ran } from './sandbox.ts'

/** Milliseconds of processor time for the code of a transformation. */
const timeLimit = 50
const memoryLimit = 16 * 1024 * 1024
/** Pages of 64 KiB for the limit, the stack, and text that enters and leaves. Memory does not grow, because growing takes up to a second. */
const pages = 24 * 16
const stackLimit = 256 * 1024
/** Characters that a handler's result may have. The body's limit of 1 MiB in UTF-8 is checked later. */
const longestResult = 1024 * 1024 + 128 * 1024

/**
 * Runs in the sandbox before the code, and saves the functions that it needs, because the code can replace them. Only two lines of JSON leave
 * the sandbox, which the other side does not trust.
 */
const prelude = `(() => {
  const { parse, stringify } = JSON
  let webhook
  const nothing = () => undefined
  globalThis.console = { log: nothing, info: nothing, warn: nothing, error: nothing, debug: nothing }
  return {
    read(text) {
      webhook = parse(text)
      return webhook.timestamp = String(webhook.payload.timestamp)
    },
    run(handler) {
      const result = handler(webhook)
      if (typeof result !== 'object' || result === null) throw new TypeError('handler must return the webhook')
      if (typeof result.then === 'function') throw new TypeError('handler must not be async')
      const { method, url, headers, payload, cancel } = result
      const body = stringify(payload)
      if (body === undefined && cancel !== true) throw new TypeError('the payload is not JSON')
      return stringify({ method, url, headers, cancel }) + '\\n' + body
    },
  }
})()`

/** The time on the sandbox's clock, in milliseconds since 1970. Its time zone is UTC. */
let clock = 0
class ClockOfSandbox extends Date {
  static override now = (): number => clock
  override getTimezoneOffset = (): number => 0
}
globalThis.Date = ClockOfSandbox as DateConstructor

/** The types of Node.js do not declare it. */
declare const WebAssembly: {
  Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
}

interface Engine {
  module: QuickJSWASMModule
  memory: Uint8Array
  /** The memory before the first run, without pages of zeros. */
  image: { at: number; bytes: Uint8Array }[]
  /** The key of the last job. */
  usedBy?: string
}

/** Milliseconds of processor time that this thread has used. */
function used(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

async function start(): Promise<Engine> {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
  const module = await newQuickJSWASMModuleFromVariant(
    newVariant(variant as unknown as QuickJSSyncVariant, { wasmMemory: memory }),
  )
  const bytes = new Uint8Array(memory.buffer)
  return { module, memory: bytes, image: imageOf(bytes) }
}

function imageOf(memory: Uint8Array): Engine['image'] {
  const page = 4096
  const image: Engine['image'] = []
  const zeros = Buffer.alloc(page)
  for (let at = 0; at < memory.length; at += page) {
    const bytes = memory.slice(at, at + page)
    if (!zeros.equals(bytes)) image.push({ at, bytes })
  }
  return image
}

/** Clears one owner's events before another owner's code runs, which could exploit a flaw in QuickJS. */
function reset({ memory, image }: Engine): void {
  memory.fill(0)
  for (const { at, bytes } of image) memory.set(bytes, at)
}

let engine: Engine | undefined

async function run(job: Job): Promise<Ran> {
  engine ??= await start()
  const { module, usedBy } = engine
  if (usedBy !== undefined && usedBy !== job.key) reset(engine)
  engine.usedBy = job.key
  try {
    return runIn(module, job)
  } catch {
    // After an error in WebAssembly, such as a stack overflow, the memory is in an unknown state.
    engine = undefined
    return { error: { message: 'the sandbox failed while it ran the code' }, durationMs: 0 }
  }
}

function runIn(module: QuickJSWASMModule, { code, webhook, body, eventId }: Job): Ran {
  const runtime = module.newRuntime()
  runtime.setMemoryLimit(memoryLimit)
  runtime.setMaxStackSize(stackLimit)
  // When the code started. Reading a large payload before that does not count.
  let begun = Infinity
  let isLate = false
  runtime.setInterruptHandler(() => (isLate ||= used() - begun > timeLimit))
  // QuickJS seeds its random numbers from the clock.
  clock = createHash('sha256').update(eventId).digest().readUIntBE(0, 5)
  const context = runtime.newContext()
  const handles: QuickJSHandle[] = []
  const keep = (result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle => {
    const handle = result.error ?? result.value
    handles.push(handle)
    if (result.error) throw new Thrown(describe(context, handle))
    return handle
  }
  const within = (): Omit<Ran, 'durationMs'> => {
    const ours = keep(context.evalCode(prelude, 'postern.js'))
    if (body !== undefined) {
      const text = context.newString(`${webhook.slice(0, -1)},"payload":${body}}`)
      handles.push(text)
      clock = Date.parse(context.getString(keep(context.callMethod(ours, 'read', [text])))) || 0
    }
    begun = used()
    keep(context.evalCode(code, 'transformation.js'))
    const handler = keep(
      context.evalCode('typeof handler === "function" ? handler : undefined', 'postern.js'),
    )
    if (context.typeof(handler) !== 'function')
      return { error: { message: 'the code must define a function handler(webhook)' } }
    if (body === undefined) return {}
    const result = keep(context.callMethod(ours, 'run', [handler]))
    const length = context.getProp(result, 'length').consume((handle) => context.getNumber(handle))
    if (length > longestResult) return { error: { message: 'the result is longer than 1 MiB' } }
    const [meta, payload] = context.getString(result).split('\n') as [string, string]
    return { meta, payload: isSame(payload, body) ? undefined : payload }
  }
  let ran: Omit<Ran, 'durationMs'>
  try {
    ran = within()
  } catch (error) {
    if (!(error instanceof Thrown)) throw error
    ran = { error: isLate ? { message: `the code ran longer than ${timeLimit} ms` } : error.shown }
  }
  const durationMs = Math.max(0, Math.round((used() - begun) * 100) / 100)
  for (const handle of handles) handle.dispose()
  context.dispose()
  runtime.dispose()
  return { ...ran, durationMs }
}

/** Whether two JSON texts have the same value. */
function isSame(one: string, other: string): boolean {
  return one === other || one === JSON.stringify(JSON.parse(other))
}

/** An exception in the sandbox. */
class Thrown extends Error {
  readonly shown: NonNullable<Ran['error']>

  constructor(shown: NonNullable<Ran['error']>) {
    super()
    this.shown = shown
  }
}

function describe(context: QuickJSContext, thrown: QuickJSHandle): NonNullable<Ran['error']> {
  const { name, message, stack } = Object(context.dump(thrown)) as Record<string, unknown>
  const text =
    typeof message === 'string' ? `${String(name)}: ${message}` : 'the code threw a value that is no error'
  const line = /transformation\.js:(\d+)/.exec(String(stack))?.[1]
  return { message: text.slice(0, 500), ...(line !== undefined && { line: Number(line) }) }
}

parentPort!.on('message', (job: Job) => {
  void run(job).then((ran) => parentPort!.postMessage(ran, []))
})

// Compiles the WebAssembly before the first job, whose time limit must not include that.
const code = 'function handler(webhook) { return webhook }'
await run({ key: '', code, webhook: '{"id":""}', body: '{}', eventId: '' })
parentPort!.postMessage({ isReady: true }, [])
