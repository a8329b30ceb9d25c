// JSON as text. The browser's own reader would round numbers beyond 2^53, and an event is shown digit for digit.

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g
const opens = (token) => token === '{' || token === '['
const closes = (token) => token === '}' || token === ']'

/** Puts every member and item on a line of its own. */
export function indented(text) {
  let [result, depth, previous] = ['', 0, '']
  for (const [token] of text.matchAll(tokens)) {
    if (closes(token)) depth -= 1
    const breaks = opens(previous) ? !closes(token) : closes(token) || previous === ','
    if (breaks) result += `\n${'  '.repeat(depth)}`
    result += token === ':' ? ': ' : token
    if (opens(token)) depth += 1
    previous = token
  }
  return result
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
