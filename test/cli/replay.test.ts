import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import {
  onEachEngine,
  serviceEnvironment,
  started,
  startedService,
  startReceiver,
} from '#test/harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { postern, startPostern, type Ended } from './command.ts'

onEachEngine('postern replay beside a running service', (engine) => {
  let broken = true
  const receiver = started(() => startReceiver(500))
  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0', EMIT_RETRY_SCHEDULE: '0' },
    config: {
      receiving: {
        handlers: {
          'order.*': () => {
            if (broken) throw new Error('the shop is closed')
          },
        },
      },
    },
  }))
  const env = () => serviceEnvironment(service.databaseUrl)
  const replay = (...args: string[]): Promise<Ended> => postern(tmpdir(), ['replay', ...args], env())

  test('failed events are counted, queued, and processed by the service', async () => {
    await postWebhook(service, { id: 'a', type: 'order.paid' })
    await postWebhook(service, { id: 'b', type: 'order.late' })
    const inStatus = async (status: string): Promise<number> => {
      const rows = await service.database.reader.selectFrom('event_queue').select('status').execute()
      return rows.filter((row) => row.status === status).length
    }
    await eventually(async () => (await inStatus('failed')) === 2)
    assert.equal((await replay('events', '--dry-run')).stdout, '2 events would be reprocessed\n')
    for (const [option, value, count] of [
      ['--event-type', 'order.*', 2],
      ['--event-type', 'order.sent', 0],
      ['--event-type', 'order.late', 1],
      ['--source', 'provider', 2],
      ['--error', 'the shop', 2],
      ['--error', 'the bakery', 0],
      ['--until', '2020-01-01', 0],
      ['--until', '1d', 0],
      ['--since', '1d', 2],
    ] as const)
      assert.equal(
        (await replay('events', '--dry-run', option, value)).stdout,
        `${count} ${count === 1 ? 'event' : 'events'} would be reprocessed\n`,
      )
    assert.equal(
      (await replay('events', '--error', 'the bakery')).stdout,
      'There are no failed events to reprocess.\n',
    )
    const wrong = await replay('events', '--subscriber', 'x')
    assert.deepEqual([wrong.code, wrong.stderr], [2, '--subscriber cannot be used with events\n'])
    broken = false
    const { code, stdout, stderr } = await replay('events')
    assert.equal(code, 0)
    assert.equal(stdout, '2 of 2 events queued\n')
    assert.equal(stderr, '', 'no bar where there is no terminal')
    await eventually(async () => (await inStatus('processed')) === 2)
  })

  test('dead deliveries are sent again', async () => {
    await service.admin('/subscribers', { method: 'POST', json: { url: receiver.url } })
    await service.admin('/events', { method: 'POST', json: { type: 'order.sent', data: 1 } })
    await eventually(async () => {
      const rows = await service.database.reader.selectFrom('deliveries').select('status').execute()
      return rows.some(({ status }) => status === 'dead')
    })
    const calls = receiver.calls.length
    const { code, stdout, stderr } = await replay('deliveries')
    assert.equal(code, 0, stderr)
    assert.equal(stdout, '1 of 1 deliveries queued\n')
    assert.match(stderr, /^1 deliveries: a running service queues them; Ctrl-C cancels the rest\n$/)
    await receiver.waitFor(calls + 1)
  })

  test('Ctrl-C cancels the rest', async () => {
    for (const id of ['c', 'd'])
      await service.admin('/events', { method: 'POST', json: { id, type: 'order.sent', data: 1 } })
    await eventually(async () => {
      const rows = await service.database.reader.selectFrom('deliveries').select('status').execute()
      return rows.filter(({ status }) => status === 'dead').length >= 3
    })
    // One each hundred seconds: the second is not begun.
    const { ended, child } = startPostern(tmpdir(), ['replay', 'deliveries', '--rate', '0.01'], env())
    await eventually(async () => {
      const jobs = await service.database.reader.selectFrom('jobs').selectAll().execute()
      return jobs.some(({ status, done }) => status === 'running' && done === 1)
    })
    child.kill('SIGINT')
    const { code, stdout } = await ended
    assert.equal(code, 130)
    assert.match(stdout, /^1 of 3 deliveries queued\n$/)
    const jobs = await service.database.reader.selectFrom('jobs').select('status').execute()
    assert.ok(jobs.some(({ status }) => status === 'cancelled'))
    assert.ok(jobs.every(({ status }) => status !== 'running'))
  })

  test('events that an endpoint never got are sent', async () => {
    const added = await service.admin('/subscribers', { method: 'POST', json: { url: receiver.url } })
    const { id } = (await added.json()) as { id: string }
    const missing = (...args: string[]): Promise<Ended> =>
      replay('deliveries', '--status', 'missing', '--subscriber', id, ...args)
    for (const refused of [[], ['--since', '1d', '--dry-run']]) {
      const { code, stderr } = await missing(...refused)
      assert.equal(code, 2)
      assert.match(stderr, /missing events/i)
    }
    const { code, stdout, stderr } = await missing('--since', '1d')
    assert.equal(code, 0, stderr)
    assert.equal(stdout, '3 of 3 deliveries queued\n')
    assert.equal((await missing('--since', '1d')).stdout, '0 deliveries queued\n')
  })

  test('invalid options are refused before any work', async () => {
    for (const args of [
      ['--rate', '0'],
      ['--rate', 'fast'],
      ['--status', 'pending'],
      ['--status', 'x'],
    ]) {
      const { code, stderr } = await replay('deliveries', ...args)
      assert.notEqual(code, 0, args.join(' '))
      assert.match(stderr, /rate|pending|status/)
    }
  })
})
