import { bucketCount, type Buckets } from './durations.ts'

/**
 * Encodes counts for the database: for each bucket that is not empty, its distance to the one before and its count, as varints
 * (seven bits a byte, the lowest first). A busy minute takes some fifty bytes.
 */
export function encodeBuckets(buckets: Buckets): Uint8Array {
  const bytes: number[] = []
  let before = 0
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    const count = buckets[bucket]!
    if (count === 0) continue
    write(bytes, bucket - before)
    write(bytes, count)
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

/** Division instead of shifts: a count may exceed 32 bits. */
function write(bytes: number[], value: number): void {
  let rest = value
  while (rest >= 128) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}
