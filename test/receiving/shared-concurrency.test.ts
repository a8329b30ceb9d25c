// A handler's concurrency holds for all processes on one PostgreSQL together.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { defineConfig } from '../../src/index.ts'
import type { DeclaredHandler } from '../../src/receiving/config.ts'
import { type Engine, onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { eventually, postWebhook, settled } from './harness.ts'

// On SQLite one process works on a file.

/** Counts what is under way in each process, and together. */
class Overlaps {
  readonly running = [0, 0]
  readonly begun = [0, 0]
  most = 0

  async run(process: number, work: () => Promise<unknown>): Promise<void> {
    this.begun[process]! += 1
    this.running[process]! += 1
    this.most = Math.max(this.most, this.running[0]! + this.running[1]!)
    try {
      await work()
    } finally {
      this.running[process]! -= 1
    }
  }
}

describe('concurrency of a handler over two processes', onPostgres, () => {
  const engine = postgres as Engine
  let home: TestDatabase
  let services: TestService[]
  let overlaps: Overlaps
  let work: () => Promise<unknown>
  const handler = (process: number, concurrency: number): DeclaredHandler => ({
    concurrency,
    handle: () => overlaps.run(process, work),
  })
  async function start(handlers: (process: number) => Record<string, DeclaredHandler>): Promise<TestService> {
    const service = await startTestService(engine, {
      databaseUrl: home.url,
      config: defineConfig({ receiving: { handlers: handlers(services.length) } }),
    })
    services.push(service)
    return service
  }
  before(async () => {
    home = await engine.createMigratedDatabase()
    services = []
    for (let process = 0; process < 2; process += 1)
      await start((number) => ({
        'one.*': handler(number, 1),
        three: handler(number, 3),
        ten: handler(number, 10),
        free: () => undefined,
      }))
  })
  after(async () => {
    await Promise.all(services.map((service) => service.close()))
    await home.drop()
  })
  /** Half of the events come in at each process. */
  async function post(type: (index: number) => string, count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const id = `${type(0)}-${index}`
      const { status } = await postWebhook(services[index % 2]!, { id, type: type(index) })
      assert.equal(status, 200)
    }
  }
  const slots = async (): Promise<number> =>
    (await sql`select from handler_slots`.execute(services[0]!.database.reader)).rows.length

  for (const [type, most] of [
    ['one.a', 1],
    ['three', 3],
  ] as const) {
    test(`never more than ${most} at once, and all of them are used`, async () => {
      overlaps = new Overlaps()
      const gate = Promise.withResolvers<void>()
      work = () => gate.promise.then(() => pause(5))
      await post((index) => (type === 'three' ? type : index % 2 === 0 ? 'one.a' : 'one.b'), 40)
      await eventually(() => overlaps.most === most, 'all slots are used')
      gate.resolve()
      await settled(services[0]!.database)
      assert.equal(overlaps.begun[0]! + overlaps.begun[1]!, 40)
      assert.equal(overlaps.most, most)
    })
  }

  test('an idle process returns its slots to others', async () => {
    overlaps = new Overlaps()
    work = async () => undefined
    await post(() => 'ten', 20)
    await settled(services[0]!.database)
    await eventually(async () => (await slots()) === 0, 'no slot is kept without an event')
  })

  test('two busy processes both get slots', async () => {
    overlaps = new Overlaps()
    work = () => pause(30)
    await post(() => 'ten', 10)
    let index = 10
    await eventually(async () => {
      const sent = [0, 1].map((process) =>
        postWebhook(services[process]!, { id: `ten-more-${process}-${index}`, type: 'ten' }),
      )
      await Promise.all(sent)
      index += 1
      return overlaps.begun[0]! > 20 && overlaps.begun[1]! > 20
    }, 'both processes run the handler')
    await settled(services[0]!.database)
    assert.ok(overlaps.most <= 10, `${overlaps.most} at once`)
  })

  test('handlers without a bound take no slots', async () => {
    await eventually(async () => (await slots()) === 0)
    await post(() => 'free', 5)
    await settled(services[0]!.database)
    assert.equal(await slots(), 0)
  })
})
