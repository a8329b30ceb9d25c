import type { Engine } from '../storage/query-runner.ts'
import type { SortKey } from './list.ts'

/** Rows that equal a position in the first keys, and lie behind it in the next ones. */
export interface Range {
  /** How many keys are equal to the position's; null counts as equal to null. */
  equal: number
  /** `after`: keys that all go one way and compare as a row value. Else the next key alone is null, or is anything but null. */
  next: { kind: 'after'; keys: number } | { kind: 'null' | 'not null' }
}

/**
 * The rows behind a position, as ranges of the index that is in this order; the nearest first. There is one for each key
 * where the direction changes, and one more for each that may be null.
 *
 * Nulls stand where the engine's plain index has them: above all values on PostgreSQL, below all on SQLite.
 * @param nulls which of the position's values are null.
 */
export function rangesAfter(order: readonly SortKey[], nulls: readonly boolean[], engine: Engine): Range[] {
  const ranges: Range[] = []
  let start = 0
  while (start < order.length) {
    const first = order[start]!
    const nullsAreBehind = (engine === 'postgres') !== first.descending
    if (nulls[start]) {
      if (!nullsAreBehind) ranges.push({ equal: start, next: { kind: 'not null' } })
      start += 1
      continue
    }
    let end = start + 1
    // A row value is neither greater nor less where one of its parts is null: such a key begins a group of its own.
    while (end < order.length && order[end]!.descending === first.descending && !order[end]!.field.nullable)
      end += 1
    if (first.field.nullable && nullsAreBehind) ranges.push({ equal: start, next: { kind: 'null' } })
    ranges.push({ equal: start, next: { kind: 'after', keys: end - start } })
    start = end
  }
  return ranges.toReversed()
}
