/** A name as SQL, whatever characters it has. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The name of a table, perhaps with its schema in front of a full stop. */
export function quoteTable(name: string): string {
  return name.split('.', 2).map(quote).join('.')
}
