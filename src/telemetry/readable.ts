import { Writable } from 'node:stream'

const levels: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
}

/** Log lines for a person at a terminal, one short line each. Machines get the NDJSON as it is. */
export function readableLines(out: NodeJS.WritableStream): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') out.write(`${readable(line)}\n`)
      done()
    },
  })
}

function readable(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line) as {
    level: number
    time: string
    msg: string
    err?: { message?: string; stack?: string }
  }
  const details = Object.entries(rest)
    .filter(([name]) => name !== 'reqId')
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const text = [new Date(time).toTimeString().slice(0, 8), levels[level] ?? level, msg, ...details].join('  ')
  return err ? `${text}\n${err.stack ?? err.message ?? ''}` : text
}
