/**
 * A text that a spreadsheet interprets as a formula (OWASP, CSV Injection), and the place in a text where a spreadsheet that does not
 * separate by commas sees such a cell: behind a semicolon, a tab or a line break. A dash that begins a line of prose is left alone,
 * because without a call or a reference to other programs it can do nothing.
 */
const formula = /^[=+\-@\t\r\n＝＋－＠]/
const formulaWithin = /([;\t\r\n])(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const number = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** One record of RFC 4180, with its line end. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(cell).join(',')}\r\n`
}

/** A text that a spreadsheet would run as a formula gets an apostrophe before the formula, unless it is a number. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  // As in PostgreSQL's COPY, an empty cell is null.
  if (value === '') return '""'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const guarded = text.replaceAll(formulaWithin, "$1'")
  const harmless = formula.test(text) && !number.test(text) ? `'${guarded}` : guarded
  return /[",;\t\r\n]/.test(harmless) || harmless !== harmless.trim()
    ? `"${harmless.replaceAll('"', '""')}"`
    : harmless
}
