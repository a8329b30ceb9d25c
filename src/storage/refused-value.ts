/** SQLSTATE classes: data exception, integrity constraint violation. */
const postgresClasses = new Set(['22', '23'])
/** SQLite result codes (https://sqlite.org/rescode.html): too big, constraint, mismatch. */
const sqliteCodes = new Set([18, 19, 20])

/** Whether a database refused a statement because of its values, so that a retry would fail too. */
export function isRefusedValue(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return sqliteCodes.has(errcode & 0xff)
  return typeof code === 'string' && code.length === 5 && postgresClasses.has(code.slice(0, 2))
}
