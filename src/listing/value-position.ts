import type { KeyValue } from '../paging/cursor-values.ts'

/**
 * Where a text of the query string lies among the values of a type: at one of them; between two neighbours, as 2.5 among the
 * integers; or above or below all of them. `undefined` for a text that is not a value of the type.
 */
export type ValuePosition =
  | { at: KeyValue }
  | { between: readonly [KeyValue, KeyValue] }
  | { beyond: 'above' | 'below' }
  | undefined
