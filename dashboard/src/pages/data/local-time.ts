/** An ISO time as the input for a local time writes it; empty for another text. */
export function localTime(value: string): string {
  const time = Date.parse(value)
  if (Number.isNaN(time)) return ''
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
