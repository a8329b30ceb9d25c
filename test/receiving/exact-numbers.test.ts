// Numbers that JavaScript rounds, from a received event to what a handler emits.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { exactPayload, type ReceivedEvent } from '../../src/index.ts'
import { startEmitting, subscribe } from '../emitting/harness.ts'
import { onEachEngine, rowIn, started, startReceiver } from '../harness/index.ts'
import { postWebhook, settled } from './harness.ts'

type Data = { n: number; price: number; list: { id: number }[] }

const numbers =
  '{"n":9007199254740993,"p":8202522731445525542,"huge":1e400,"zero":-0,"tenth":0.1,"price":1.50,' +
  '"list":[{"id":9007199254740993},{"id":8202522731445525542}],"mixed":[9007199254740992,9007199254740993,[-0,1E+2],1e-400]}'
const short = '{"huge":1e400,"zero":-0,"tenth":0.1,"in":[{"price":1.50}]}'

const dataOf = ({ payload }: ReceivedEvent): Data => (payload as { data: Data }).data

onEachEngine('exact numbers', (engine) => {
  let calls = 0

  const receiver = started(() => startReceiver())
  const service = started(() =>
    startEmitting(engine, {
      handlers: {
        whole: (event, { emit }) => emit({ type: 'sent', data: event.payload }),
        part: (event, { emit }) =>
          emit({ type: 'sent', data: { inner: dataOf(event), list: dataOf(event).list, added: 1 } }),
        changed: (event, { emit }) => {
          const data = dataOf(event)
          data.list.reverse()
          data.n = 5
          emit({ type: 'sent', data })
        },
        exact: (event, { emit }) => {
          const { data } = exactPayload(event) as { data: Data }
          assert.equal(data.n, 9007199254740993n)
          assert.equal(data.price, 1.5)
          emit({ type: 'sent', data: { id: data.n, all: data } })
        },
      },
    }),
  )
  before(async () => {
    await subscribe(service, { url: receiver.url })
  })

  /** Returns the data that the subscriber gets for a received event. */
  async function send(type: string, data = numbers, before = ''): Promise<string> {
    calls += 1
    const response = await postWebhook(service, `${before}{"id":"e${calls}","type":"${type}","data":${data}}`)
    assert.equal(response.status, 200)
    await settled(service.database)
    const received = await receiver.waitFor(calls)
    const body = received[calls - 1]!.body.toString()
    return body.slice(body.indexOf('"data":') + '"data":'.length, -1)
  }

  test('a payload that is emitted keeps them', async () => {
    assert.equal(await send('whole'), `{"id":"e${calls}","type":"whole","data":${numbers}}`)
  })

  test('so do those that are short, and a byte order mark does no harm', async () => {
    assert.equal(await send('whole', short, '\ufeff'), `{"id":"e${calls}","type":"whole","data":${short}}`)
  })

  test('an unchanged part keeps them within other data', async () => {
    const list = '[{"id":9007199254740993},{"id":8202522731445525542}]'
    assert.equal(await send('part'), `{"inner":${numbers},"list":${list},"added":1}`)
  })

  test('a changed property has its new value, and objects that moved keep theirs', async () => {
    const list = '[{"id":9007199254740993},{"id":8202522731445525542}]'
    const reversed = '[{"id":8202522731445525542},{"id":9007199254740993}]'
    assert.equal(
      await send('changed'),
      numbers.replace('"n":9007199254740993', '"n":5').replace(list, reversed),
    )
  })

  test('the exact payload has bigints, which can be emitted', async () => {
    assert.equal(await send('exact'), `{"id":9007199254740993,"all":${numbers}}`)
  })

  test('a dry run and the event itself show them', async () => {
    await send('whole')
    const { id } = await rowIn(service, 'events', { event_id: `e${calls}` })
    const rehearsed = await service.admin(`/events/${id}/dry-run`, { method: 'POST' })
    const text = await rehearsed.text()
    assert.equal(rehearsed.status, 200, text)
    assert.ok(text.includes(`"data":${numbers}`), text)
    const shown = await (await service.admin(`/events/${id}`)).text()
    assert.ok(shown.includes(`"data":${numbers}`), shown)
  })
})
