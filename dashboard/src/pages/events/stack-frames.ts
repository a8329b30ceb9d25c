/** A recorded error: its message and its stack, split into the user's own frames and the others. */
export interface ReadError {
  /** The lines before the first frame. */
  message: string
  own: string[]
  others: string[]
  /** What follows the stack: causes and properties. */
  rest: string
}

const frame = /^\s+at /
/** Frames of Node, of packages, and of the service itself. */
const foreign =
  /node:|[\\/]node_modules[\\/]|[\\/]postern[\\/](?:dist|src)[\\/]|[\\/]src[\\/](?:receiving|storage|runtime)[\\/]/

/** Splits the text of an error as Node prints it. */
export function readError(text: string): ReadError {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => frame.test(line))
  if (first === -1) return { message: text, own: [], others: [], rest: '' }
  const end = lines.findIndex((line, at) => at > first && !frame.test(line))
  const rest = end === -1 ? '' : lines.slice(end).join('\n')
  const frames = lines.slice(first, end === -1 ? undefined : end).map((line) => line.trim())
  return {
    message: lines.slice(0, first).join('\n'),
    own: frames.filter((line) => !foreign.test(line)),
    others: frames.filter((line) => foreign.test(line)),
    rest: ['', '}'].includes(rest.trim()) ? '' : rest,
  }
}

export interface Failure {
  number: number
  at: string | null
  durationMs: number
  error: string
}

/** The failures with the same error, so that each error is shown once. */
export function groupFailures(failures: readonly Failure[]): { text: string; failures: Failure[] }[] {
  const groups = new Map<string, Failure[]>()
  for (const failure of failures) groups.set(failure.error, [...(groups.get(failure.error) ?? []), failure])
  return [...groups].map(([text, failures]) => ({ text, failures })).toReversed()
}
