import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { Clock } from '../../runtime/clock.ts'
import type { Problem } from '../../errors.ts'
import { BodyBudget, type BodyLimits, bodyPace, CountedBody } from './budget.ts'

const limits: BodyLimits = { bytes: 1_000, reserve: 160, bodies: 8, pace: bodyPace }

class Body extends CountedBody {
  readonly #network: string
  code: string | undefined

  constructor(network: string) {
    super()
    this.#network = network
  }

  override network(): string {
    return this.#network
  }

  override drop(problem: Problem): void {
    this.code = problem.code
  }
}

describe('the budget of bodies', () => {
  let budget: BodyBudget
  let due: (() => void) | undefined
  beforeEach(() => {
    due = undefined
    const clock: Clock = {
      now: () => 0,
      after(ms, callback) {
        assert.equal(ms, bodyPace.interval)
        due = callback
        return () => (due = undefined)
      },
    }
    budget = new BodyBudget(limits, clock)
  })

  const interval = (): void => {
    const callback = due
    due = undefined
    callback!()
  }
  /** A body that has begun and of which so much has come. */
  const begin = (network: string, bytes: number, announced = 0): Body => {
    const body = new Body(network)
    assert.equal(budget.begin(body, announced), true, `${network} begins`)
    come(body, bytes)
    return body
  }
  const come = (body: Body, bytes: number): void => {
    body.received += bytes
    budget.progressed(body)
    assert.equal(budget.take(body, bytes), true)
  }
  const codes = (bodies: readonly Body[]): (string | undefined)[] => bodies.map(({ code }) => code)

  test('while there is room, no body is dropped', () => {
    const body = new Body('a')
    body.network = () => assert.fail('nothing is short')
    budget.begin(body, 800)
    come(body, 800)
    assert.deepEqual([budget.bodies, budget.bytes], [1, 800])
    budget.end(body)
    assert.deepEqual([budget.bodies, budget.bytes], [0, 0])
    budget.end(body)
    assert.deepEqual([budget.bodies, budget.bytes], [0, 0], 'its end is counted once')
  })

  test('a small network gets room from the largest network, whose longest stalled bodies are dropped first', () => {
    const many = [begin('a', 400), begin('a', 200), begin('a', 200)]
    come(many[0]!, 10)
    const small = begin('b', 30)
    const more = begin('c', 100, 200)
    assert.deepEqual(codes([...many, small, more]), [
      undefined,
      'overloaded',
      undefined,
      undefined,
      undefined,
    ])
    assert.equal(budget.bytes, 410 + 200 + 30 + 100)
  })

  test('a network that holds little may use the reserve', () => {
    const many = [begin('a', 500), begin('a', 400)]
    const small = new Body('b')
    assert.equal(budget.begin(small, 10), true)
    come(small, 10)
    assert.deepEqual(codes([...many, small]), [undefined, undefined, undefined])
    assert.equal(budget.begin(new Body('a'), 10), false, 'a large one does not')
  })

  test('no network is reduced below the one that asks for room', () => {
    const equals = ['a', 'b', 'c'].map((network) => begin(network, 270))
    const fourth = new Body('d')
    assert.equal(budget.begin(fourth, 300), false)
    assert.deepEqual(codes(equals), [undefined, undefined, undefined])
    assert.equal(budget.begin(fourth, 200), true, 'which would make it the smallest')
    assert.equal(equals.filter(({ code }) => code === 'overloaded').length, 1)
  })

  test('one network alone may use all room; more is refused after slow bodies are dropped', () => {
    const [first, second] = [begin('a', 700), begin('a', 300)]
    const third = new Body('a')
    assert.equal(budget.begin(third, 10), false)
    interval()
    assert.equal(budget.begin(third, 10), false, 'no whole interval is over')
    second.received += 10_000
    interval()
    assert.equal(budget.begin(third, 10), true)
    assert.deepEqual(codes([first, second]), ['request-timeout', undefined])
    assert.equal(budget.take(second, 690), true)
    assert.equal(budget.take(third, 20), false, 'the others are not slow')
  })

  test('slow bodies are dropped from networks that hold more, not from smaller ones', () => {
    const few = begin('a', 100)
    const some = begin('b', 250)
    const most = begin('c', 490)
    interval()
    interval()
    const body = new Body('d')
    assert.equal(budget.begin(body, 600), true)
    assert.deepEqual(codes([few, some, most]), ['request-timeout', 'request-timeout', 'request-timeout'])
    budget.end(body)

    const small = begin('a', 100)
    const large = begin('b', 740)
    interval()
    interval()
    large.received += 100_000
    assert.equal(budget.begin(new Body('b'), 300), false)
    assert.deepEqual(codes([small, large]), [undefined, undefined])
  })

  test('the number of bodies is shared like memory', () => {
    const many = Array.from({ length: 7 }, () => begin('a', 0))
    begin('b', 0)
    come(many[0]!, 1)
    const other = new Body('c')
    assert.equal(budget.begin(other, 0), true)
    assert.deepEqual(codes(many.slice(0, 3)), [undefined, 'overloaded', undefined])
    assert.equal(budget.bodies, 8)
    assert.equal(budget.begin(new Body('a'), 0), false)
  })

  test('a body below the minimum rate is dropped after the grace period', () => {
    const least = (bodyPace.minRate * bodyPace.interval * bodyPace.intervals) / 1_000
    const [still, trickling, steady, burst] = [
      begin('a', 1),
      begin('a', 1),
      begin('b', 1),
      begin('c', 500),
    ] as const
    const all = [still, trickling, steady, burst]
    interval()
    for (let count = 0; count < bodyPace.intervals; count += 1) {
      assert.deepEqual(codes(all), [undefined, undefined, undefined, undefined])
      trickling.received += 100
      steady.received += least / bodyPace.intervals
      interval()
    }
    assert.deepEqual(codes(all), ['request-timeout', 'request-timeout', undefined, 'request-timeout'])
    assert.deepEqual([budget.bodies, budget.bytes], [1, 1])
    budget.end(steady)
    interval()
    assert.equal(due, undefined, 'nothing is watched when nothing is read')
  })

  test('the accounting of room is exact for all sequences of events', () => {
    const open: Body[] = []
    let seed = 7
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (let step = 0; step < 20_000; step += 1) {
      const body = open[random(open.length || 1)]
      if (random(3) === 0 || !body) {
        const next = new Body('abcde'[random(5)]!)
        if (budget.begin(next, random(300))) open.push(next)
      } else if (random(4) === 0) budget.end(body)
      else if (random(50) === 0) interval()
      else if (body.group) {
        const bytes = random(200)
        if (budget.take(body, bytes)) body.received += bytes
        else budget.end(body)
      }
      for (let at = open.length - 1; at >= 0; at -= 1) if (!open[at]!.group) open.splice(at, 1)
      assert.equal(budget.bodies, open.length)
      assert.equal(
        budget.bytes,
        open.reduce((sum, { held }) => sum + held, 0),
      )
      assert.ok(budget.bytes <= limits.bytes && budget.bodies <= limits.bodies)
    }
  })
})
