// JSON as text. The browser's own reader would round numbers beyond 2^53, and an event is shown digit for digit.

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g
const opens = (token) => token === '{' || token === '['
const closes = (token) => token === '}' || token === ']'

/** Levels that are indented; what lies deeper stays on one line. */
const deepest = 40
/** Characters of line breaks and indentation that are added; what follows stays on one line. */
const mostSpace = 500_000

/**
 * Puts every member and item on a line of its own. Anybody who may send an event decides how deep it is nested, so that what
 * is added is bounded: the result is at most twice as long as the text, and half a million characters more.
 */
export function indented(text) {
  const parts = []
  let [depth, space, previous] = [0, 0, '']
  for (const [token] of text.matchAll(tokens)) {
    if (closes(token)) depth -= 1
    const breaks = opens(previous) ? !closes(token) : closes(token) || previous === ','
    const isInside = closes(token) ? depth < deepest : depth <= deepest
    if (breaks && isInside && space < mostSpace) {
      const added = `\n${'  '.repeat(Math.max(0, depth))}`
      parts.push(added)
      space += added.length
    }
    parts.push(token === ':' ? ': ' : token)
    if (opens(token)) depth += 1
    previous = token
  }
  return parts.join('')
}

/** The text of the last member of an object, if that is its name. */
export function lastMember(text, name) {
  let depth = 0
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (opens(token)) depth += 1
    else if (closes(token)) depth -= 1
    else if (depth === 1 && token === `"${name}"`)
      return text.slice(text.indexOf(':', index + token.length) + 1, text.lastIndexOf('}'))
  }
  return undefined
}
