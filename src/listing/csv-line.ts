/**
 * A text that a spreadsheet interprets as a formula (OWASP, CSV Injection), and the place in a text where a spreadsheet that does not
 * separate by commas sees such a cell: behind a semicolon, a tab or a line break. A dash that begins a line of prose is left alone,
 * because without a call or a reference to other programs it can do nothing. An apostrophe before a formula gets another one, so that
 * an import can remove it.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/
const formulaWithin = /([;\t\r\n])(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const guardWithin = /([;\t\r\n])'(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const number = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** One record of RFC 4180, with its line end. @param nulls the cell of null; other cells with this text are quoted */
export function csvLine(values: readonly unknown[], nulls = ''): string {
  return `${values.map((value) => (value === null || value === undefined ? nulls : cell(value, nulls))).join(',')}\r\n`
}

function cell(value: unknown, nulls: string): string {
  const isPlain = typeof value === 'number' || typeof value === 'boolean'
  const text = typeof value === 'string' ? value : isPlain ? String(value) : JSON.stringify(value)
  const guarded = isPlain ? text : withGuard(text)
  // As in PostgreSQL's COPY, an empty cell is null.
  return text === '' || text === nulls || /[",;\t\r\n]/.test(guarded) || guarded !== guarded.trim()
    ? `"${guarded.replaceAll('"', '""')}"`
    : guarded
}

/** A text that a spreadsheet would run as a formula gets an apostrophe before the formula, unless it is a number. */
function withGuard(text: string): string {
  const guarded = text.replaceAll(formulaWithin, "$1'")
  return formula.test(text) && !number.test(text) ? `'${guarded}` : guarded
}

/** The text of a cell before `csvLine` added apostrophes. */
export function withoutGuard(cell: string): string {
  const text = cell.replaceAll(guardWithin, '$1')
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}
