/**
 * Control characters, line ends beyond ASCII and marks that turn the direction of text: what a terminal takes for a command,
 * and what makes one line look like two.
 */
// oxlint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text that is safe to print as part of one line: each unsafe character as JSON would escape it. Safe within JSON, too. */
export function printable(text: string): string {
  return text.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The same for a text of several lines, whose line ends are meant. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}
