/**
 * Texts, names and comments, which are left as they are, and the parameter of a LIMIT
 * (https://sqlite.org/lang_expr.html#literal_values_constants_ and https://sqlite.org/lang_comment.html).
 */
const parts =
  /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*.*?(?:\*\/|$)|(\blimit\s+)(?=[?:@$])/gis

/**
 * Makes the parameter of a LIMIT part of an expression, which has the same value. SQLite plans a statement by the value of a parameter
 * that is the whole LIMIT, so it prepares the statement anew each time the parameter is bound (`sqlite3ExprIsInteger` in
 * https://sqlite.org/src/file/src/expr.c): that took two thirds of a page of events (docs/adr/0051).
 */
export function hideLimitParameter(sql: string): string {
  return sql.replace(parts, (part, limit?: string) => (limit === undefined ? part : `${part}0 + `))
}
