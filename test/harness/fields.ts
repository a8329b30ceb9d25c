/** One field of each item, for an assertion in one line. */
export const each = <T, K extends keyof T>(items: readonly T[], field: K): T[K][] =>
  items.map((item) => item[field])
