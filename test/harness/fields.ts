/** One field of each item, for an assertion in one line. */
export const each = <T, K extends keyof T>(items: readonly T[], field: K): T[K][] =>
  items.map((item) => item[field])

/** Some fields of each item, in this order. */
export const fields = <T, const K extends readonly (keyof T)[]>(items: readonly T[], ...names: K) =>
  items.map((item) => names.map((name) => item[name]) as { -readonly [I in keyof K]: T[K[I]] })
