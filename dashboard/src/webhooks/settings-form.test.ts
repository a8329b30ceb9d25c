import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import '../language/in-english.ts'
import { changeOf, formOf, newForm } from './settings-form.ts'

const changeTo = (change: Partial<typeof newForm>) => changeOf(newForm, { ...newForm, ...change })

describe('the form of an endpoint', () => {
  test('sends what differs only, as the API takes it', () => {
    assert.deepEqual(changeTo({}), { change: {} })
    assert.deepEqual(
      changeTo({
        url: ' https://example.com/hooks ',
        eventTypes: ['order.*'],
        rateLimit: '0.5',
        retrySchedule: '0, 5,300',
        headers: 'X-Team: billing\n\nX-Note: a: b',
        conditions: '/total gte 100\n/kind eq card',
        auth: {
          ...newForm.auth,
          type: 'oauth',
          tokenUrl: 'https://a.test/',
          clientId: 'a',
          clientSecret: 'b',
          user: 'x',
        },
        tls: { certificate: '', key: ' ', ca: 'PEM' },
        successStatuses: '202, 3xx',
        method: 'PUT',
        channels: 'a, b\nc',
        uid: ' main ',
      }),
      {
        change: {
          url: 'https://example.com/hooks',
          eventTypes: ['order.*'],
          rateLimit: 0.5,
          retrySchedule: [0, 5, 300],
          headers: { 'X-Team': 'billing', 'X-Note': 'a: b' },
          conditions: [
            { path: '/total', op: 'gte', value: 100 },
            { path: '/kind', op: 'eq', value: 'card' },
          ],
          auth: { type: 'oauth', tokenUrl: 'https://a.test/', clientId: 'a', clientSecret: 'b' },
          tls: { ca: 'PEM' },
          successStatuses: [202, '3xx'],
          method: 'PUT',
          channels: ['a', 'b', 'c'],
          uid: 'main',
        },
      },
    )
  })

  test('a destination has no settings of HTTP', () => {
    const { change } = changeTo({
      destination: 'queue',
      url: 'https://example.com',
      method: 'PUT',
      settings: '{"name":"orders"}',
      secrets: { token: 't0ken', unused: '' },
    })
    assert.deepEqual(change, {
      destination: 'queue',
      settings: { name: 'orders' },
      secrets: { token: 't0ken' },
    })
    assert.deepEqual(Object.keys(changeTo({ destination: 'queue', settings: '[]' }).faults ?? {}), [
      'settings',
    ])
  })

  test('an emptied field selects the default', () => {
    const before = { ...newForm, description: 'Shop', rateLimit: '2', retrySchedule: '0, 5' }
    const { change } = changeOf(before, newForm)
    assert.deepEqual(change, { description: null, rateLimit: null, retrySchedule: null })
  })

  test('says at each field what it cannot read', () => {
    const { faults } = changeTo({ headers: 'no header', conditions: 'nonsense', retrySchedule: 'often' })
    assert.deepEqual(Object.keys(faults ?? {}).toSorted(), ['conditions', 'headers', 'retrySchedule'])
  })

  test('reads back what it wrote', () => {
    const subscriber = {
      url: 'https://example.com',
      description: null,
      eventTypes: ['*'],
      conditions: [{ path: '/total', op: 'gte', value: 100 }],
      retrySchedule: [0, 5],
      headers: { 'X-Team': 'billing' },
      channels: [],
    } as unknown as Parameters<typeof formOf>[0]
    const { conditions, retrySchedule, headers } = formOf(subscriber)
    assert.deepEqual([conditions, retrySchedule, headers], ['/total gte 100', '0, 5', 'X-Team: billing'])
  })
})
