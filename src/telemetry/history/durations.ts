/** Milliseconds: the upper bound of the first bucket. */
const shortest = 0.1
/** Buckets in which a duration doubles: each is 9 % wide. */
const perDoubling = 8
/** Covers 33 doublings of the shortest: ten days. */
export const bucketCount = 33 * perDoubling + 1

/** Numbers of durations by bucket. */
export type Buckets = Float64Array

/** Counts durations in fixed logarithmic buckets, so that counts of different minutes and processes can be added. */
export class Durations {
  #counts: Buckets = new Float64Array(bucketCount)
  #observed = false

  /** @param ms milliseconds */
  observe(ms: number): void {
    this.#counts[bucketOf(ms)]! += 1
    this.#observed = true
  }

  /** Returns the counts since the last call and resets them; undefined if there are none. */
  drain(): Buckets | undefined {
    if (!this.#observed) return undefined
    const counts = this.#counts
    this.#counts = new Float64Array(bucketCount)
    this.#observed = false
    return counts
  }
}

export function bucketOf(ms: number): number {
  // Also for a duration that is not a number.
  if (!(ms > shortest)) return 0
  return Math.min(bucketCount - 1, 1 + Math.floor(Math.log2(ms / shortest) * perDoubling))
}

/** The geometric middle of a bucket in milliseconds: off by at most 4.5 % for all but the first and the last one. */
function middleOf(bucket: number): number {
  return bucket === 0 ? shortest : shortest * 2 ** ((bucket - 0.5) / perDoubling)
}

/**
 * For each share (0 to 1, ascending), the duration in milliseconds that this part of the durations does not exceed; null if there
 * are none.
 */
export function quantiles(buckets: Buckets, shares: readonly number[]): (number | null)[] {
  let total = 0
  for (const count of buckets) total += count
  if (total === 0) return shares.map(() => null)
  let bucket = 0
  let sum = buckets[0]!
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(total * share))
    while (sum < rank && bucket < bucketCount - 1) sum += buckets[++bucket]!
    return Number(middleOf(bucket).toPrecision(3))
  })
}

export function addBuckets(to: Buckets, from: Buckets): void {
  for (let bucket = 0; bucket < bucketCount; bucket += 1) to[bucket]! += from[bucket]!
}

/**
 * Encodes counts for the database: for each bucket that is not empty, its distance to the one before and its count, as varints
 * (seven bits a byte, the lowest first). A busy minute takes some fifty bytes.
 */
export function encodeBuckets(buckets: Buckets): Uint8Array {
  const bytes: number[] = []
  // Division instead of shifts: a count may exceed 32 bits.
  const write = (value: number): void => {
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
    bytes.push(rest)
  }
  let before = 0
  for (const [bucket, count] of buckets.entries()) {
    if (count === 0) continue
    write(bucket - before)
    write(count)
    before = bucket
  }
  return Uint8Array.from(bytes)
}

/** Adds encoded counts to `to`. Ignores what is no bucket of this version. Charts decode thousands of rows, so it calls nothing. */
export function addEncoded(to: Buckets, bytes: Uint8Array): void {
  const { length } = bytes
  let bucket = 0
  for (let at = 0; at < length;) {
    bucket += bytes[at]!
    // A distance of 128 or more has a second byte, and is at most the number of buckets.
    if (bytes[at++]! >= 128) bucket += (bytes[at++]! - 1) * 128
    let byte = bytes[at++]!
    let count = byte & 127
    for (let weight = 128; byte >= 128 && at < length; weight *= 128) {
      byte = bytes[at++]!
      count += (byte & 127) * weight
    }
    if (bucket < bucketCount) to[bucket]! += count
  }
}
