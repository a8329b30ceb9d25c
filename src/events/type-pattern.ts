import { type RawBuilder, sql, type SqlBool } from 'kysely'

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

/** SQL for `matchesPattern`. Only a text between two `*` is compared without regard to case, on SQLite. */
export function typeCondition(column: RawBuilder<unknown>, pattern: string): RawBuilder<SqlBool> {
  if (!isPattern(pattern)) return sql<SqlBool>`${column} = ${pattern}`
  const pieces = pattern.split('*')
  const [first, last] = [pieces[0]!, pieces.at(-1)!]
  // Unlike `like`, it is case-sensitive on both engines.
  const conditions = [sql`substr(${column}, 1, ${literalLength(first)}) = ${first}`]
  if (last !== '') {
    const whole = sql`length(${column})`
    conditions.push(
      sql`${whole} >= ${literalLength(first + last)}`,
      sql`substr(${column}, ${whole} - ${literalLength(last)} + 1) = ${last}`,
    )
  }
  if (pieces.length > 2) {
    const text = pieces.map((piece) => piece.replace(/[!%_]/g, '!$&')).join('%')
    conditions.push(sql`${column} like ${text} escape '!'`)
  }
  return sql<SqlBool>`(${sql.join(conditions, sql` and `)})`
}

/** In characters, as databases count. */
function literalLength(text: string): RawBuilder<unknown> {
  return sql.lit(Array.from(text).length)
}
