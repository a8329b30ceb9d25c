/** What differs from run to run. Anything else that does is written `…` on the page. */
const variable: readonly [RegExp, string][] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>'],
  [/\b\d{4}-\d\d-\d\d\b/g, '<date>'],
  [/\b\d\d:\d\d:\d\d\b/g, '<time>'],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g, '<uuid>'],
  [/\b(msg|evt|pk|whsec|sk|sub|req)_[\w+/=-]{8,}/g, '<$1>'],
  [/\b[\da-f]{16,}\b/g, '<hex>'],
  [/\beyJ[\w.-]{10,}/g, '<token>'],
  [/("(?:id|eventId|deliveryId|testDeliveryId|nextCursor|lastId|number)":)\d+/g, '$1<n>'],
  [/(127\.0\.0\.1|localhost):\d{2,5}/g, '$1:<port>'],
  [/\b[\d,.]+ ?(ms|s|kB|KB|MB|GB|µs|%)(?![\w])/g, '<n> $1'],
]

function masked(text: string): string {
  let result = text
  for (const [pattern, name] of variable) result = result.replace(pattern, name)
  return result
}

/** JSON as a page shows it has line breaks that the answer does not have. */
function compact(text: string): string {
  if (!/^\s*[[{]/.test(text))
    return text
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .trim()
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, (_all, string: string | undefined) => string ?? '')
}

/** Whether a command printed what the page shows. `…` stands for any text, on a line of its own for any lines. */
export function matches(shown: string, printed: string): boolean {
  // A token that is cut short on the page.
  const wanted = masked(compact(shown)).replaceAll(/<\w+>…|\beyJ[\w-]*…|\b(?:pk|whsec|msg)_…/g, '…')
  const pattern = wanted
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('[^]*?')
  return new RegExp(`^${pattern}$`).test(masked(compact(printed)))
}
