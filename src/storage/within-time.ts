import type { Clock } from '../runtime/clock.ts'
import { StorageUnavailable } from './unavailable.ts'

/**
 * Resolves or rejects as `work` does, or rejects after `ms` milliseconds. The work itself continues; a later rejection is ignored.
 * @param late what to say of work that takes longer
 * @throws StorageUnavailable if it takes longer
 */
export async function withinTime<T>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<T>,
  late: string,
): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const cancel = clock.after(ms, () => timeout.reject(new StorageUnavailable(new Error(late))))
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    cancel()
  }
}
