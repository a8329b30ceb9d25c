import type { Engine } from '../storage/query-runner.ts'
import type { SortKey } from './list.ts'

/** Rows that equal a position in the first keys and come after it in the next ones. */
export interface Range {
  /** The number of keys that equal the position's. Null equals null here. */
  equal: number
  /** `after`: the next keys, which have one direction, compare as a row value. Otherwise the next key is null, or not null. */
  next: { kind: 'after'; keys: number } | { kind: 'null' | 'not null' }
}

/**
 * The rows after a position, as ranges of an index in this order, nearest first. Each change of direction adds a range, and so
 * does each key that may be null.
 *
 * Nulls sort as in the engine's indexes: above all values on PostgreSQL, below all values on SQLite.
 * @param nulls which of the position's values are null.
 */
export function rangesAfter(order: readonly SortKey[], nulls: readonly boolean[], engine: Engine): Range[] {
  const ranges: Range[] = []
  let start = 0
  while (start < order.length) {
    const first = order[start]!
    const nullsComeAfter = (engine === 'postgres') !== first.descending
    if (nulls[start]) {
      if (!nullsComeAfter) ranges.push({ equal: start, next: { kind: 'not null' } })
      start += 1
      continue
    }
    let end = start + 1
    // A comparison of row values with a null is neither true nor false, so a nullable key begins a range of its own. It has one
    // operator, so a key whose operators are in another schema is a range of its own.
    const mayBeNull = (index: number): boolean => order[index]!.field.nullable || nulls[index] === true
    const isAlone = (index: number): boolean => order[index]!.field.operators !== undefined
    const joins = (index: number): boolean =>
      order[index]!.descending === first.descending && !mayBeNull(index) && !isAlone(index)
    if (!isAlone(start)) while (end < order.length && joins(end)) end += 1
    if (first.field.nullable && nullsComeAfter) ranges.push({ equal: start, next: { kind: 'null' } })
    ranges.push({ equal: start, next: { kind: 'after', keys: end - start } })
    start = end
  }
  return ranges.toReversed()
}
