/** Whether the database can store a text unchanged: PostgreSQL refuses U+0000, and lone surrogates have no UTF-8 encoding. */
export function isStorableText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}

/** Removes U+0000, replaces lone surrogates, and cuts the text to `longest` UTF-16 code units. */
export function storableText(text: string, longest = Number.POSITIVE_INFINITY): string {
  return text.replaceAll('\0', '').slice(0, longest).toWellFormed()
}
