import type { Row } from '../../storage/tables.ts'

/** Milliseconds: the upper bound of the first bucket. */
const shortest = 0.1
/** Buckets in which a duration doubles: each is 9 % wide. */
const perDoubling = 8
/** Covers 33 doublings of the shortest: ten days. */
const bucketCount = 33 * perDoubling + 1

/** Numbers of durations by bucket. */
type Buckets = Float64Array

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

function bucketOf(ms: number): number {
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

function addBuckets(to: Buckets, from: Buckets): void {
  for (let bucket = 0; bucket < bucketCount; bucket += 1) to[bucket]! += from[bucket]!
}

/**
 * Encodes counts for the database: for each bucket that is not empty, its distance to the one before and its count, as varints
 * (seven bits a byte, the lowest first). A busy minute takes some fifty bytes.
 */
function encodeBuckets(buckets: Buckets): Uint8Array {
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
function addEncoded(to: Buckets, bytes: Uint8Array): void {
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

/** What is counted of one minute or hour. */
export interface Counts {
  ok: number
  failed: number
  /** Webhooks that were received before; they are among `ok`. */
  duplicates: number
}

/** Counts and durations of some time, to which those of other times can be added. */
export class Tally implements Counts {
  ok = 0
  failed = 0
  duplicates = 0
  buckets: Buckets | undefined

  /** Adds another tally, or a row of the table. */
  add(other: Counts & { buckets?: Buckets | undefined; durations?: Uint8Array | null }): void {
    this.ok += other.ok
    this.failed += other.failed
    this.duplicates += other.duplicates
    if (other.buckets) this.addBuckets(other.buckets)
    if (other.durations) addEncoded((this.buckets ??= new Float64Array(bucketCount)), other.durations)
  }

  addBuckets(buckets: Buckets): void {
    addBuckets((this.buckets ??= new Float64Array(bucketCount)), buckets)
  }

  toRow(step: number, series: string, at: number): Row<'metric_history'> {
    const { ok, failed, duplicates, buckets } = this
    return { step, series, at, ok, failed, duplicates, durations: buckets ? encodeBuckets(buckets) : null }
  }
}

/** The tally of a series at a time, in milliseconds. */
interface Entry {
  readonly series: string
  readonly at: number
  readonly tally: Tally
}

/** Tallies by series and time. */
export class Tallies {
  readonly #entries = new Map<string, Entry>()

  get size(): number {
    return this.#entries.size
  }

  of(series: string, at: number): Tally {
    const key = keyOf(series, at)
    let entry = this.#entries.get(key)
    if (!entry) this.#entries.set(key, (entry = { series, at, tally: new Tally() }))
    return entry.tally
  }

  has(series: string, at: number): boolean {
    return this.#entries.has(keyOf(series, at))
  }

  entries(): Entry[] {
    return [...this.#entries.values()]
  }
}

const keyOf = (series: string, at: number): string => `${at} ${series}`
