/** `*`, an exact type, or a type followed by `.*`, which matches every type with that prefix. */
export const eventTypesPattern =
  '^(\\*|[A-Za-z0-9._:/-]{1,256}|[A-Za-z0-9_:/-][A-Za-z0-9._:/-]{0,253}\\.\\*)$'

/** The same in words. */
export const eventTypesForm =
  'An event type of letters, digits and `._:/-`, a beginning of types such as `order.*`, or `*`'

/** Whether an event's type matches one of a subscriber's patterns. */
export function matchesType(patterns: readonly string[], type: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*' ||
      pattern === type ||
      (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )
}
