/** A name as a quoted SQL identifier, whatever characters it has. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A quoted table name, perhaps with its schema: `shop.orders` becomes `"shop"."orders"`. */
export function quoteTable(name: string): string {
  return name.split('.', 2).map(quote).join('.')
}

/** Longest name that PostgreSQL does not cut off, in bytes. */
export const longestName = 63
