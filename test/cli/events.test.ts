import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import { adminKey, engines, startedService } from '#test/harness/index.ts'
import { emit } from '../emitting/harness.ts'
import { postern, type Ended } from './command.ts'

describe('postern events', () => {
  const service = startedService(engines[0]!)
  const run = (...args: string[]): Promise<Ended> =>
    postern(tmpdir(), ['events', ...args, '--url', service.baseUrl, '--key', adminKey])

  test('lists scheduled events with their time, and cancels one', async () => {
    const { id } = await emit(service, { id: 'later', type: 'order.reminder', data: 1, delay: 3600 })
    await emit(service, { type: 'order.paid', data: 1 })
    const { code, stdout } = await run('list', '--status', 'scheduled')
    assert.equal(code, 0)
    const [head, line, ...rest] = stdout.trimEnd().split('\n')
    assert.match(head!, /^number +id +type +status +source +created +deliver at$/)
    assert.match(line!, /^1 +later +order\.reminder +scheduled +\S+ \S+ +\S+ \S+$/)
    assert.deepEqual(rest, [])
    assert.equal((await run('cancel', String(id))).stdout, `Event ${id} is canceled.\n`)
    const [event] = JSON.parse((await run('list', '--status', 'canceled', '--json')).stdout) as object[]
    assert.equal((event as { id: string }).id, 'later')
    const late = await run('cancel', '2')
    assert.equal(late.code, 1)
    assert.match(late.stderr, /HTTP 409 .*not scheduled/)
    assert.equal((await run('cancel', 'later')).code, 2)
  })
})
