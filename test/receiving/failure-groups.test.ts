// Failures are shown in groups with the same cause, and a group is handled as one.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { each, fields, onEachEngine, startedService } from '../harness/index.ts'
import { clockWith } from '../harness/manual-clock.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

type Group = AnswerTo<'GET /failures'>['data'][number]
interface Detail extends Group {
  error: string
  errorEvent: number
  events: { id: number; eventId: string; status: string }[]
}

onEachEngine('failures in groups', (engine) => {
  let isMended = false
  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,0' },
    parts: { clock: clockWith({ 1_000: 100 }) },
    handlers: {
      'order.*': async (event, { tx }) => {
        if (!isMended) throw new RangeError(`order ${event.id} has no customer`)
        await writeEffect(tx, event.id)
      },
      'user.*': (event) => {
        throw event.type === 'user.text' ? new TypeError('closed') : new Error('closed')
      },
      // Runs before the handler of all types, which fails.
      'mixed.one': (event, { tx }) => writeEffect(tx, `${event.id} first`),
      '*': (event) => {
        if (event.type === 'mixed.one') throw new Error('the second one')
      },
    },
  }))
  before(async () => {
    await createEffects(service.database)
  })

  const read = async <T>(path: string, method = 'GET', json?: object, status = 200): Promise<T> => {
    const answer = await service.admin(path, { method, ...(json && { json }) })
    assert.equal(answer.status, status, `${method} ${path}: ${await answer.clone().text()}`)
    return (await answer.json()) as T
  }
  const groups = async (query = ''): Promise<Group[]> =>
    (await read<{ data: Group[] }>(`/failures${query}`)).data
  const groupOf = (handler: string, count: number): Promise<Group> =>
    eventually(async () => {
      const [found] = await groups(`?handler=${encodeURIComponent(handler)}`)
      return found?.count === count ? found : undefined
    }, `${count} failures of ${handler}`)

  test('are one group for one cause, whatever their numbers', async () => {
    for (const id of ['o1', 'o2', 'o3']) await postWebhook(service, { id, type: 'order.paid' })
    await settled(service.database)
    const group = await groupOf('order.*', 6)
    assert.equal(group.name, 'RangeError')
    assert.equal(group.message, 'order … has no customer')
    assert.match(group.frame!, /failure-groups\.test\.ts\)$/)
    assert.deepEqual([group.failed, group.retrying], [3, 0])
    assert.equal(
      group.hours.reduce((sum, { count }) => sum + count, 0),
      6,
    )
    const detail = await read<Detail>(`/failures/${group.id}`)
    assert.match(detail.error, /RangeError: order o3 has no customer\n/)
    assert.deepEqual(fields(detail.events, 'eventId', 'status'), [
      ['o3', 'failed'],
      ['o2', 'failed'],
      ['o1', 'failed'],
    ])
    assert.equal(detail.errorEvent, detail.events[0]!.id)
  })

  test('belong to the handler that failed', async () => {
    await postWebhook(service, { id: 'm1', type: 'mixed.one' })
    await settled(service.database)
    const group = await groupOf('*', 2)
    assert.equal(group.message, 'the second one')
  })

  test('of other causes are other groups, by pages', async () => {
    await postWebhook(service, { id: 'u1', type: 'user.new' })
    await postWebhook(service, { id: 'u2', type: 'user.text' })
    await settled(service.database)
    await eventually(async () => (await groups('?handler=user.*')).length === 2)
    const all = await groups()
    assert.equal(all.length, 4)
    const first = await read<{ data: Group[]; pageInfo: { nextCursor: string } }>('/failures?limit=3')
    const rest = await read<{ data: Group[] }>(`/failures?limit=3&cursor=${first.pageInfo.nextCursor}`)
    assert.deepEqual(each([...first.data, ...rest.data], 'id'), each(all, 'id'))
  })

  test('are run again as one, with a job, and leave the list then', async () => {
    isMended = true
    const { id } = await groupOf('order.*', 6)
    const job = await read<{ id: string; total: number }>(`/failures/${id}/rerun`, 'POST', undefined, 202)
    assert.equal(job.total, 3)
    await eventually(async () => (await read<{ status: string }>(`/jobs/${job.id}`)).status === 'done')
    await settled(service.database)
    const done = (await readEffects(service.database)).filter((one) => one.startsWith('o'))
    assert.deepEqual(done, ['o1', 'o2', 'o3'])
    const group = await read<Detail>(`/failures/${id}`)
    assert.deepEqual([group.failed, group.retrying], [0, 0])
    assert.match(group.error, /has no customer/, 'the history stays')
    assert.ok((await groups()).every((listed) => listed.id !== id))
  })

  test('that are retried are in the list of the group, and run with it', async () => {
    const { data } = await read<{ data: { eventId: string }[] }>(
      `/events/failed?group=${(await groupOf('*', 2)).id}`,
    )
    assert.deepEqual(each(data, 'eventId'), ['m1'])
  })
})
