// Source maps with one position for each line. Those of a bundler have one for each token, which is a seventh of the package.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The numbers of a segment, as in ECMA-426: base 64, least significant digits first, the sign in the lowest bit. */
function decode(segment: string): number[] {
  const numbers: number[] = []
  let value = 0
  let shift = 0
  for (const digit of segment) {
    const bits = digits.indexOf(digit)
    value |= (bits & 31) << shift
    shift += 5
    if (bits & 32) continue
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1)
    value = shift = 0
  }
  return numbers
}

function encode(number: number): string {
  let text = ''
  let rest = number < 0 ? (-number << 1) | 1 : number << 1
  do {
    text += digits[(rest & 31) | (rest > 31 ? 32 : 0)]!
    rest >>>= 5
  } while (rest > 0)
  return text
}

/** Keeps the first segment of each generated line, and those that lead to another source line than the one before. */
export function linePositions(mappings: string): string {
  // Generated column, source, line, column: each segment has the differences to the one before it.
  let read = [0, 0, 0, 0]
  let written = read
  const lines = mappings.split(';').map((line) => {
    read = [0, ...read.slice(1)]
    written = [0, ...written.slice(1)]
    const kept: string[] = []
    for (const segment of line.split(',').filter(Boolean)) {
      const change = decode(segment)
      read = read.map((number, field) => number + (change[field] ?? 0))
      if (change.length === 1 || (kept.length > 0 && read[1] === written[1] && read[2] === written[2]))
        continue
      kept.push(read.map((number, field) => encode(number - written[field]!)).join(''))
      written = read
    }
    return kept.join(',')
  })
  return lines.join(';')
}

/** Rewrites the source maps in `folder`. Names are left out: nothing is renamed. */
export function shortenMaps(folder: string): void {
  for (const file of globSync('**/*.js.map', { cwd: folder })) {
    const path = join(folder, file)
    const map = JSON.parse(readFileSync(path, 'utf8')) as { mappings: string }
    writeFileSync(path, JSON.stringify({ ...map, names: [], mappings: linePositions(map.mappings) }))
  }
}
