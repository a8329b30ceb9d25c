// Real processes that a handler ends: it costs the events beside it nothing, and the event that does it fails after three runs alone.
// An error in a callback of a handler ends only its attempt.
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  adminKey,
  engines,
  onEachEngine,
  serviceEnvironment,
  type Engine,
  type TestDatabase,
} from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from './harness.ts'

type Shown = AnswerTo<'GET /events/{id}'>

/** Processes on a database of their own, each started again when a handler has ended it. */
class Supervised implements AsyncDisposable {
  readonly #home: TestDatabase
  readonly #env: NodeJS.ProcessEnv
  readonly #children = new Map<ChildProcess, string | undefined>()
  #isStopped = false
  /** The ids that handlers have begun, in order. */
  readonly begun: string[] = []
  readonly exitCodes: (number | null)[] = []
  readonly lines: string[] = []

  private constructor(home: TestDatabase, schedule: string) {
    this.#home = home
    this.#env = { ...process.env, ...serviceEnvironment(home.url), HANDLER_RETRY_SCHEDULE: schedule }
  }

  static async start(engine: Engine, schedule: string, processes = 1): Promise<Supervised> {
    const made = new Supervised(await engine.createMigratedDatabase(), schedule)
    for (let count = 0; count < processes; count += 1) await made.#start()
    return made
  }

  async #start(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'crash-service.ts'), {
      env: { ...this.#env, CRASH_SERVICE_LOG: 'warn' },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    this.#children.set(child, undefined)
    child.stdout!.on('data', (chunk) => this.lines.push(...String(chunk).trim().split('\n')))
    child.on('message', (message: { begun?: string; baseUrl?: string }) => {
      if (message.begun !== undefined) this.begun.push(message.begun)
      if (message.baseUrl !== undefined) this.#children.set(child, message.baseUrl)
    })
    child.on('exit', (code) => {
      this.#children.delete(child)
      this.exitCodes.push(code)
      if (!this.#isStopped) void this.#start()
    })
    await Promise.race([once(child, 'message'), once(child, 'exit')])
  }

  send(message: string): void {
    for (const child of this.#children.keys()) child.send(message)
  }

  /** Resolves with the first logged line that has all of the texts. */
  logged(...texts: string[]): Promise<string> {
    return eventually(
      () => this.lines.find((line) => texts.every((text) => line.includes(text))),
      `the log has ${texts.join(', ')}`,
    )
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return eventually(async () => {
      for (const url of this.#children.values()) {
        const headers = { ...(init.headers as object), authorization: `Bearer ${adminKey}` }
        const answer = url && (await fetch(new URL(path, url), { ...init, headers }).catch(() => undefined))
        if (answer) return answer
      }
      return undefined
    }, 'a process answers')
  }

  async post(id: string, type: string): Promise<void> {
    await eventually(async () => {
      for (const url of this.#children.values()) {
        if (url === undefined) continue
        const to = { fetch: (path: string, init?: RequestInit) => fetch(new URL(path, url), init) }
        const answer = await postWebhook(to, { id, type }).catch(() => undefined)
        if (answer?.status === 200) return true
      }
      return false
    }, `${id} is acknowledged`)
  }

  async show(eventId: string): Promise<Shown> {
    const { data } = (await (
      await this.fetch('/events?direction=received&limit=100')
    ).json()) as AnswerTo<'GET /events'>
    const { id } = data.find((one) => one.eventId === eventId)!
    return (await (await this.fetch(`/events/${id}`)).json()) as Shown
  }

  /** Ends the processes by a signal, or by an error outside of handlers, and starts none again. */
  async stop(by: NodeJS.Signals | 'throw'): Promise<void> {
    this.#isStopped = true
    for (const child of this.#children.keys())
      if (by === 'throw') child.send(by)
      else child.kill(by)
    await eventually(() => this.#children.size === 0, 'the processes have ended')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
    await this.#home.drop()
  }
}

onEachEngine('a handler that ends its process', (engine) => {
  test('fails by itself after three runs alone, and costs other events nothing', async () => {
    await using made = await Supervised.start(engine, '0,2', engine.name === 'postgres' ? 2 : 1)
    for (const id of ['sl1', 'sl2']) await made.post(id, 'slow.x')
    await made.post('ex1', 'poison.exit')
    await eventually(async () => (await made.show('ex1')).status === 'failed', 'the killer has failed')
    for (const id of ['sl1', 'sl2'])
      await eventually(async () => (await made.show(id)).status === 'processed', `${id} is processed`)
    assert.equal(made.begun.filter((id) => id === 'ex1').length, 4, 'once beside others, three times alone')
    assert.equal(made.exitCodes.length, 4, 'no process is ended by another event')
    const processing = (await made.show('ex1')).processing!
    assert.equal(processing.attempts, 3)
    const errors = processing.failures.map(({ error }) => error)
    for (const [index, error] of errors.entries())
      assert.match(
        error,
        new RegExp(`the process ended while handler poison.exit was running .*${index + 1} of 3`),
      )
    assert.match(errors.at(-1)!, /not tried again/)
    const times = processing.failures.map(({ at }) => Date.parse(at!))
    for (const [index, at] of times.entries())
      if (index > 0) assert.ok(at - times[index - 1]! >= 1_600, 'each run waits as the schedule says')
    for (const id of ['sl1', 'sl2']) assert.equal((await made.show(id)).processing!.attempts, 1)
    assert.ok(
      made.lines.some((line) =>
        /"level":50.*"handlers":\["poison.exit"\].*the process ended each time it ran/.test(line),
      ),
      'the log names the handler',
    )
  })
})

// The database has no part in these.
const [engine] = engines

test('an error in a callback of a handler fails its attempt, and ends no process', async () => {
  await using made = await Supervised.start(engine!, '0,1')
  await made.post('sl3', 'slow.x')
  for (const kind of ['timer', 'emitter']) {
    const type = `throws.${kind}`
    await made.post(kind, type)
    await eventually(async () => (await made.show(kind)).status === 'failed', `${kind} has failed`)
    const { failures } = (await made.show(kind)).processing!
    assert.equal(failures.length, 2, 'it is retried as the schedule says')
    for (const { error } of failures) assert.match(error, new RegExp(`^Error: ${kind}\\n`))
    await made.logged('its attempt has failed', `"handler":"${type}"`, `"message":"${kind}"`, '"event":')
  }
  await made.post('rejected', 'throws.rejected')
  await made.logged('unhandled promise rejection', '"handler":"throws.rejected"')
  await made.post('late', 'throws.late')
  for (const id of ['rejected', 'late', 'sl3'])
    await eventually(async () => (await made.show(id)).status === 'processed', `${id} is processed`)
  made.send('late')
  await made.logged('after its attempt had ended', '"handler":"throws.late"', '"message":"late late"')
  assert.deepEqual(made.exitCodes, [])
  assert.equal((await made.show('late')).status, 'processed')

  await made.stop('throw')
  await made.logged('uncaught error: the process is stopping', '"message":"from no handler"')
  assert.deepEqual(made.exitCodes, [1])
})

test('an event that ends its process waits between its runs as the schedule says, while new events are handled', async () => {
  await using made = await Supervised.start(engine!, '0,5,300')
  await made.post('ex2', 'poison.exit')
  const waiting = async (number: number): Promise<number | undefined> => {
    const processing = (await made.show('ex2')).processing!
    const { nextAttemptAt } = processing
    const last = processing.failures.at(-1)
    return processing.failures.length === number && nextAttemptAt !== null && last
      ? Date.parse(nextAttemptAt) - Date.parse(last.at!)
      : undefined
  }
  const first = await eventually(() => waiting(1), 'it ran alone once')
  assert.ok(first >= 4_000 && first < 60_000, `${first}`)
  await made.post('ok', 'slow.x')
  await eventually(async () => (await made.show('ok')).status === 'processed', 'others go on')
  const second = await eventually(() => waiting(2), 'it ran alone twice')
  assert.ok(second >= 240_000, `${second}`)
  assert.equal(made.exitCodes.length, 3)
})
