/** Whether each `*` is a whole part between full stops. A text without `*` is a type. */
const form = /^(?:[^*]|(?<![^.])\*(?![^.]))+$/

/** Whether a text is a type or a valid pattern: `*`, `order.*`, `*.created`, `order.*.paid`. */
export function isTypeOrPattern(text: string): boolean {
  return form.test(text)
}

/** Whether a text selects several types. */
export function isPattern(text: string): boolean {
  return text.includes('*') && form.test(text)
}

/** Whether a type matches a type or pattern. A `*` stands for any text, full stops included. */
export function matchesPattern(pattern: string, type: string): boolean {
  const star = pattern.indexOf('*')
  if (star === -1) return pattern === type
  if (!type.startsWith(pattern.slice(0, star))) return false
  if (star === pattern.length - 1) return true
  const pieces = pattern.slice(star + 1).split('*')
  const last = pieces.pop()!
  let at = star
  // The leftmost place for each piece leaves the most for those behind it.
  for (const piece of pieces) {
    const found = type.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return type.length - last.length >= at && type.endsWith(last)
}

/** Sorts patterns, the most specific first: by the text before the first `*`, then by all text. */
export function bySpecificity(a: string, b: string): number {
  const prefix = b.indexOf('*') - a.indexOf('*')
  return prefix === 0 ? b.replaceAll('*', '').length - a.replaceAll('*', '').length : prefix
}
