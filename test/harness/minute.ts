// Calls are counted by minutes of the clock. A test that counts them runs in one minute that stands still: while the clock goes on,
// a busy machine is allowed more calls, the more the longer it takes.
import { systemClock, type Scheduler } from '../../src/runtime/clock.ts'

const minute = 60_000

/** The next time at which a minute begins. */
export const nextMinute = (): number => Math.ceil(Date.now() / minute) * minute

/** A clock that stands at the beginning of a minute. Its timers work. */
export function stillMinute(): Scheduler {
  const now = nextMinute()
  return { ...systemClock, now: () => now }
}
