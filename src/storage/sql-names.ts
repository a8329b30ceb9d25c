/** A name as a quoted SQL identifier, whatever characters it has. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A quoted table name, with its schema if any: `shop.orders` becomes `"shop"."orders"`. */
export function quoteTable(name: string): string {
  return name.split('.', 2).map(quote).join('.')
}

/** The longest name that PostgreSQL does not truncate, in bytes. */
export const longestName = 63
