/**
 * A text that a spreadsheet interprets as a formula (OWASP, CSV Injection). A spreadsheet with another separator than the comma also
 * starts a cell after a semicolon, a tab or a line break. There, a sign without a call or a reference to other programs is harmless and
 * is not escaped. If an apostrophe already precedes a formula, another one is added, so that an import can remove it.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/
const formulaWithin = /([;\t\r\n])(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const guardWithin = /([;\t\r\n])'(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const number = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** One record of RFC 4180, with its line end. @param nulls the text of null; other cells with this text are quoted */
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
