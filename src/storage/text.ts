/**
 * Whether a text can be kept: PostgreSQL takes no U+0000, and half of a surrogate pair has no UTF-8, so a database would
 * give another text back than it was given.
 */
export function isStorableText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}
