/** A number of seconds of a field; null for an empty one, which selects the default. */
export const secondsOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

/** The text of a field of a form. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value.trim() : ''
}
