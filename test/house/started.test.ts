// The fixture that starts what the tests of a suite need.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { started } from '../harness/started.ts'

const events: string[] = []

class Part {
  readonly name: string
  #calls = 0

  constructor(name: string) {
    this.name = name
    events.push(`starts ${name}`)
  }

  call(): number {
    return (this.#calls += 1)
  }

  close(): void {
    events.push(`closes ${this.name} after ${this.#calls} calls`)
  }
}

describe('what a suite has started', () => {
  const first = started(async () => new Part('first'))
  const second = started(async () => new Part(`second of ${first.name}`))
  assert.throws(() => first.name, /not started yet/)

  test('stands for the object, with its private state', () => {
    assert.equal(second.call(), 1)
    assert.equal(second.call(), 2)
    assert.equal('call' in first, true)
  })
})

test('it is started in order, and closed in reverse order', () => {
  assert.deepEqual(events, [
    'starts first',
    'starts second of first',
    'closes second of first after 2 calls',
    'closes first after 0 calls',
  ])
})
