import { Writable } from 'node:stream'
import { standardOutput } from './log.ts'
import { printable } from './printable.ts'

const levels: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
}

/** The assumed width of a terminal, in columns. */
const width = 100
const indent = ' '.repeat(10)

interface Output {
  write: (text: string) => unknown
}

/** Where the log writes its lines of NDJSON, to be shown in a format. */
export function logOutput(format: 'json' | 'readable', out: Output = standardOutput()): Output {
  return format === 'readable' ? readableLines(out) : out
}

/** A stream that formats log lines for people. */
export function readableLines(out: Output): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') out.write(`${readable(line)}\n`)
      done()
    },
  })
}

function readable(line: string): string {
  const { level, time, msg, err, reqId, ...rest } = JSON.parse(line) as {
    level: number
    time: string
    msg: string
    err?: { message?: string; stack?: string }
    reqId?: string
    status?: number
  }
  // The reference ID of an error page is the beginning of the request id.
  const failed = level >= 40 || (rest.status ?? 0) >= 400
  const entries: [string, unknown][] = Object.entries({
    ...rest,
    ...(failed && reqId && { reqId: reqId.slice(0, 8) }),
  })
  const [groups, details] = [
    entries.filter(([, value]) => isGroup(value)),
    entries.filter(([, value]) => !isGroup(value)),
  ]
  const head = [
    new Date(time).toTimeString().slice(0, 8),
    levels[level] ?? level,
    printable(msg),
    ...details.map(pair),
  ]
  const lines = [head.join('  '), ...groups.flatMap(([, value]) => wrapped(Object.entries(value as object)))]
  return err ? `${lines.join('\n')}\n${stackOf(err)}` : lines.join('\n')
}

/** Indents the stack, so that a message of several lines cannot imitate lines of the log. */
function stackOf({ stack, message }: { message?: string; stack?: string }): string {
  const text = stack ?? message ?? ''
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? '' : '    ') + printable(line))
    .join('\n')
}

/** Objects of more than three values, such as the settings, are printed below the line. */
function isGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 3
}

function pair([name, value]: [string, unknown]): string {
  return `${name}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`
}

function wrapped(entries: [string, unknown][]): string[] {
  const lines: string[] = []
  for (const text of entries.map(pair)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 2 + text.length <= width)
      lines[lines.length - 1] = `${last}  ${text}`
    else lines.push(indent + text)
  }
  return lines
}
