// Failures are shown in groups with the same cause, and a group is handled as one.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

interface Group {
  id: string
  handler: string
  name: string
  message: string
  frame: string | null
  state: string
  stateBy: string | null
  snoozedUntil: string | null
  count: number
  failed: number
  retrying: number
  hours: { count: number }[]
}
interface Detail extends Group {
  error: string
  errorEvent: number
  events: { id: number; eventId: string; status: string }[]
}

const hour = 3_600_000

onEachEngine('failures in groups', (engine) => {
  let isMended = false
  const service = started(() =>
    startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0' },
      config: {
        receiving: {
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
        },
      },
    }),
  )
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
    assert.deepEqual([group.state, group.failed, group.retrying], ['open', 3, 0])
    assert.equal(
      group.hours.reduce((sum, { count }) => sum + count, 0),
      6,
    )
    const detail = await read<Detail>(`/failures/${group.id}`)
    assert.match(detail.error, /RangeError: order o3 has no customer\n/)
    assert.deepEqual(
      detail.events.map(({ eventId, status }) => [eventId, status]),
      [
        ['o3', 'failed'],
        ['o2', 'failed'],
        ['o1', 'failed'],
      ],
    )
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
    assert.deepEqual(
      [...first.data, ...rest.data].map(({ id }) => id),
      all.map(({ id }) => id),
    )
    assert.equal((await service.admin('/failures?state=lost')).status, 400)
  })

  test('are acknowledged, snoozed and opened again, with the person', async () => {
    const { id } = await groupOf('*', 2)
    const acknowledged = await read<Group>(`/failures/${id}/acknowledge`, 'POST')
    assert.equal(acknowledged.state, 'acknowledged')
    assert.match(acknowledged.stateBy!, /^key:/)
    assert.deepEqual(
      (await groups('?state=acknowledged')).map((group) => group.id),
      [id],
    )
    const until = new Date(Date.now() + hour).toISOString()
    const snoozed = await read<Group>(`/failures/${id}/snooze`, 'POST', { until })
    assert.deepEqual([snoozed.state, snoozed.snoozedUntil], ['snoozed', until])
    for (const refused of ['2001-01-01T00:00:00Z', 'tomorrow'])
      assert.partialDeepStrictEqual(
        await read(`/failures/${id}/snooze`, 'POST', { until: refused }, 400),
        { code: 'invalid-body', source: { pointer: '/until' } },
        refused,
      )
    await service.database.transaction((tx) =>
      tx
        .updateTable('failure_groups')
        .set({ snoozed_until: Date.now() - 1 })
        .where('id', '=', id)
        .execute(),
    )
    assert.equal((await read<Group>(`/failures/${id}`)).state, 'open', 'the time has ended')
    await read(`/failures/${id}/acknowledge`, 'POST')
    assert.equal((await read<Group>(`/failures/${id}/reopen`, 'POST')).state, 'open')
    await read('/failures/0123/acknowledge', 'POST', undefined, 404)
  })

  test('open again when another event fails after a quiet hour', async () => {
    const { id } = await groupOf('*', 2)
    await read(`/failures/${id}/acknowledge`, 'POST')
    await postWebhook(service, { id: 'm2', type: 'mixed.one' })
    await settled(service.database)
    assert.equal((await groupOf('*', 4)).state, 'acknowledged', 'it still fails')
    await service.database.transaction((tx) =>
      tx
        .updateTable('failure_groups')
        .set({ last_at: Date.now() - 2 * hour })
        .where('id', '=', id)
        .execute(),
    )
    await postWebhook(service, { id: 'm3', type: 'mixed.one' })
    await settled(service.database)
    assert.equal((await groupOf('*', 6)).state, 'open')
  })

  test('are run again as one, with a job, and are resolved then', async () => {
    isMended = true
    const { id } = await groupOf('order.*', 6)
    const job = await read<{ id: string; total: number }>(`/failures/${id}/rerun`, 'POST', undefined, 202)
    assert.equal(job.total, 3)
    await eventually(async () => (await read<{ status: string }>(`/jobs/${job.id}`)).status === 'done')
    await settled(service.database)
    const done = (await readEffects(service.database)).filter((one) => one.startsWith('o'))
    assert.deepEqual(done, ['o1', 'o2', 'o3'])
    const group = await read<Detail>(`/failures/${id}`)
    assert.deepEqual([group.state, group.failed, group.retrying], ['resolved', 0, 0])
    assert.match(group.error, /has no customer/, 'the history stays')
    assert.ok((await groups('?state=open')).every((open) => open.id !== id))
  })

  test('that are retried are in the list of the group, and run with it', async () => {
    const { data } = await read<{ data: { eventId: string }[] }>(
      `/events/failed?group=${(await groupOf('*', 6)).id}`,
    )
    assert.deepEqual(
      data.map(({ eventId }) => eventId),
      ['m3', 'm2', 'm1'],
    )
  })
})
