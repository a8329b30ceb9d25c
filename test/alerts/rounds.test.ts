// When destinations are told: once when something opens, again after their interval, and when it ends; by one of several processes.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type Deliver, type Message, Refused, sealTarget } from '../../src/alerts/deliver.ts'
import { type AlertRounds, evaluateEvery, round, type Condition, settlesIn } from '../../src/alerts/index.ts'
import { mostAttempts } from '../../src/alerts/destinations.ts'
import { mostOfAKind } from '../../src/http/attention.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { Row } from '../../src/storage/tables.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { each, fields, onEachEngine, type TestDatabase } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'

const keyring = new Keyring(['x'.repeat(32)])
const hour = 3_600_000

onEachEngine('rounds of alerts', (engine) => {
  let home: TestDatabase
  const databases: Database[] = []
  let processes: AlertRounds[]
  let now = Date.UTC(2026, 0, 1)
  const clock: Clock = { now: () => now, after: (ms, callback) => systemClock.after(ms, callback) }
  let conditions: Condition[]
  let sent: (Message & { name: string })[]
  let failWith: Error | undefined

  before(async () => {
    home = await engine.createMigratedDatabase()
    // One SQLite file belongs to one process; its rounds still run side by side.
    databases.push(await openDatabase(home.url))
    if (engine.name === 'postgres') databases.push(await openDatabase(home.url))
  })
  after(async () => {
    for (const database of databases) await database.close()
    await home.drop()
  })
  beforeEach(async () => {
    ;[conditions, sent, failWith] = [[], [], undefined]
    now += 24 * hour
    const deliver: Deliver = async (target, message) => {
      if (failWith) throw failWith
      sent.push({ ...message, name: target.kind === 'email' ? target.to[0]! : target.url })
    }
    const log = createLog('silent')
    const first = databases[0]!
    processes = [first, databases[1] ?? first].map((database) => {
      return { database, keyring, clock, log, deliver, conditions: async () => conditions }
    })
    await first.transaction((tx) => tx.deleteFrom('alert_destinations').execute())
  })

  const add = async (name: string, more: Partial<Row<'alert_destinations'>> = {}): Promise<void> => {
    const row: Row<'alert_destinations'> = {
      id: name,
      kind: 'slack',
      name,
      target: sealTarget(keyring, name, { kind: 'slack', url: name }),
      conditions: null,
      severity: 'warning',
      repeat_ms: hour,
      enabled: 1,
      created_at: now,
      updated_at: now,
      ...more,
    }
    await databases[0]!.transaction((tx) => tx.insertInto('alert_destinations').values(row).execute())
  }
  const condition = (about: string, more: Partial<Condition> = {}): Condition => ({
    kind: 'handler-failing',
    severity: 'warning',
    about,
    since: now - 60_000,
    text: `The handler ${about} fails`,
    path: `/dashboard/handlers/${about}`,
    ...more,
  })
  /** The rounds of both processes, some time later. */
  const pass = async (ms = evaluateEvery): Promise<void> => {
    now += ms
    await Promise.all(processes.map((parts) => round(parts)))
  }
  const told = (): string[] =>
    sent.splice(0).map(({ name, what, lines }) => `${name} ${what} ${lines.length}`)

  test('opens once, is repeated by the interval, and says when it is over', async () => {
    await add('ops')
    conditions = [condition('orders')]
    await pass()
    assert.equal(sent[0]!.subject, 'The handler orders fails')
    assert.deepEqual(told(), ['ops opened 1'])
    for (let passed = 0; passed < hour - evaluateEvery; passed += 5 * 60_000) await pass(5 * 60_000)
    await pass()
    assert.deepEqual(told(), ['ops repeated 1'])
    conditions = []
    await pass()
    assert.deepEqual(told(), [])
    await pass(settlesIn)
    assert.equal(sent[0]!.subject, 'Resolved: The handler orders fails')
    assert.deepEqual(told(), ['ops resolved 1'])
    await pass(24 * hour)
    assert.deepEqual(told(), [])
  })

  test('opens once, also if reading the conditions takes so long that another process begins as well', async () => {
    await add('ops')
    const found = Promise.withResolvers<Condition[]>()
    const asked: AlertRounds[] = []
    const rounds: Promise<void>[] = []
    for (const parts of processes) {
      now += evaluateEvery
      const conditions = (): Promise<Condition[]> => (asked.push(parts), found.promise)
      rounds.push(round({ ...parts, conditions }))
      await eventually(async () => asked.length === rounds.length)
    }
    found.resolve([condition('orders')])
    await Promise.all(rounds)
    assert.deepEqual(told(), ['ops opened 1'])
  })

  test('what comes back within a minute is neither resolved nor opened again', async () => {
    await add('ops')
    conditions = [condition('orders')]
    await pass()
    for (let count = 0; count < 5; count += 1) {
      conditions = []
      await pass()
      conditions = [condition('orders')]
      await pass()
    }
    assert.deepEqual(told(), ['ops opened 1'])
  })

  test('many conditions at once are one message', async () => {
    await add('ops')
    conditions = Array.from({ length: 30 }, (_, at) => condition(`h${at}`))
    await pass()
    assert.equal(sent[0]!.subject, 'The handler h0 fails (and 29 more)')
    assert.deepEqual(told(), ['ops opened 30'])
  })

  test('a destination gets the kinds and the severity that it chose, and nothing while it is off', async () => {
    await add('all')
    await add('urgent', { severity: 'error' })
    await add('keys', { conditions: '["key-expires"]' })
    await add('off', { enabled: 0 })
    await add('once', { repeat_ms: null })
    conditions = [
      condition('orders'),
      condition('key:1', { kind: 'key-expires' }),
      condition('database', { kind: 'work-stalls', severity: 'error' }),
    ]
    await pass()
    assert.deepEqual(told().toSorted(), ['all opened 3', 'keys opened 1', 'once opened 3', 'urgent opened 1'])
    await pass(2 * hour)
    assert.deepEqual(told().toSorted(), ['all repeated 3', 'keys repeated 1', 'urgent repeated 1'])
  })

  test('a destination that chooses other conditions gets no end of those that last', async () => {
    await add('kinds')
    await add('urgent')
    conditions = [condition('orders'), condition('key:1', { kind: 'key-expires' })]
    await pass()
    assert.deepEqual(told().toSorted(), ['kinds opened 2', 'urgent opened 2'])
    const change = (name: string, set: Partial<Row<'alert_destinations'>>) =>
      databases[0]!.transaction((tx) =>
        tx.updateTable('alert_destinations').set(set).where('id', '=', name).execute(),
      )
    await change('kinds', { conditions: '["key-expires"]' })
    await change('urgent', { severity: 'error' })
    await pass()
    await pass(settlesIn)
    assert.deepEqual(told(), [])
    conditions = []
    await pass()
    await pass(settlesIn)
    assert.deepEqual(told(), ['kinds resolved 1'])
  })

  test('a warning that becomes an error is told again, and an error that becomes a warning is not over', async () => {
    await add('all')
    await add('urgent', { severity: 'error' })
    const disk = (severity: Condition['severity']) => [condition('disk', { kind: 'disk-fills', severity })]
    conditions = disk('warning')
    await pass()
    assert.deepEqual(told(), ['all opened 1'])
    conditions = disk('error')
    await pass()
    assert.deepEqual(told().toSorted(), ['all opened 1', 'urgent opened 1'])
    for (const severity of ['warning', 'error', 'warning'] as const) {
      conditions = disk(severity)
      await pass()
      await pass(settlesIn)
    }
    assert.deepEqual(told(), [])
    conditions = []
    await pass()
    await pass(settlesIn)
    assert.deepEqual(told().toSorted(), ['all resolved 1', 'urgent resolved 1'])
  })

  test('what a full list leaves out is not over', async () => {
    await add('ops')
    const all = Array.from({ length: mostOfAKind + 1 }, (_, at) => condition(`h${at}`))
    conditions = all.slice(0, mostOfAKind)
    await pass()
    conditions = all.slice(1)
    await pass()
    await pass(settlesIn)
    assert.deepEqual(told(), [`ops opened ${mostOfAKind}`, 'ops opened 1'])
    conditions = all.slice(2)
    await pass()
    await pass(settlesIn)
    assert.deepEqual(told(), ['ops resolved 2'])
  })

  test('a message that cannot be sent is retried, at most five times', async () => {
    await add('ops', { repeat_ms: null })
    conditions = [condition('orders')]
    failWith = new Error('no route')
    await pass()
    const rows = () =>
      databases[0]!.reader
        .selectFrom('alert_sendings')
        .select(['status', 'attempts', 'error'])
        .orderBy('created_at')
        .execute()
        .then((all) => all.map((row) => ({ ...row })))
    assert.deepEqual(await rows(), [{ status: 'pending', attempts: 1, error: 'no route' }])
    for (let count = 0; count < 10; count += 1) await pass(2 * hour)
    assert.deepEqual(await rows(), [{ status: 'failed', attempts: mostAttempts, error: 'no route' }])
    conditions = []
    await pass()
    failWith = new Refused('the answer was 404')
    await pass(settlesIn)
    assert.deepEqual((await rows()).at(-1), { status: 'failed', attempts: 1, error: 'the answer was 404' })
  })

  test('a message that could be sent later arrives once', async () => {
    await add('ops')
    conditions = [condition('orders')]
    failWith = new Error('no route')
    await pass()
    failWith = undefined
    await pass()
    await pass()
    await pass(60_000)
    assert.deepEqual(told(), ['ops opened 1'])
  })

  test('a message that is sent late tells neither as open what has ended, nor as over what is open again', async () => {
    await add('ops')
    conditions = [condition('orders'), condition('invoices')]
    failWith = new Error('no route')
    await pass()
    conditions = [condition('invoices')]
    await pass()
    await pass(settlesIn)
    failWith = undefined
    await pass(30_000)
    assert.deepEqual(told(), ['ops resolved 1'])
    await pass(120_000)
    assert.equal(sent[0]!.subject, 'The handler invoices fails')
    assert.deepEqual(told(), ['ops opened 1'])

    conditions = []
    await pass()
    failWith = new Error('no route')
    await pass(settlesIn)
    conditions = [condition('invoices')]
    failWith = undefined
    await pass()
    assert.deepEqual(told(), ['ops opened 1'])
    await pass(30_000)
    assert.deepEqual(told(), [])
    const last = await databases[0]!.reader
      .selectFrom('alert_sendings')
      .select(['what', 'error'])
      .where('status', '=', 'failed')
      .execute()
    assert.deepEqual(fields(last, 'what', 'error'), [['resolved', 'the problem has changed since']])
  })

  test('conditions that cannot be read resolve nothing', async () => {
    await add('ops')
    conditions = [condition('orders')]
    await pass()
    const read = processes.map((parts) => parts.conditions)
    for (const parts of processes) parts.conditions = () => Promise.reject(new Error('away'))
    await pass(settlesIn)
    await pass(settlesIn)
    for (const [at, parts] of processes.entries()) parts.conditions = read[at]!
    await pass()
    assert.deepEqual(told(), ['ops opened 1'])
  })

  test('old messages are deleted', async () => {
    await add('ops')
    conditions = [condition('orders')]
    await pass()
    await pass(31 * 24 * hour)
    const left = await databases[0]!.reader.selectFrom('alert_sendings').select('what').execute()
    assert.deepEqual(each(left, 'what'), ['repeated'])
  })
})
