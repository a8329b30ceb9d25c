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

/** Adds encoded counts to `to`. Ignores what is no bucket of this version. */
export function addEncoded(to: Buckets, bytes: Uint8Array): void {
  let at = 0
  let bucket = 0
  const read = (): number => {
    let value = 0
    let weight = 1
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at]!
      value += (byte & 127) * weight
      weight *= 128
      if (byte < 128) break
    }
    at += 1
    return value
  }
  while (at < bytes.length) {
    bucket += read()
    const count = read()
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
