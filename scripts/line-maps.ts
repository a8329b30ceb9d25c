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

/**
 * Keeps the first segment of each generated line, and those that lead to another source line than the one before.
 * Code of the sources that `left` contains is marked as code without a source.
 */
export function linePositions(mappings: string, left: ReadonlySet<number>): string {
  // Generated column, source, line, column: each segment has the differences to the one before it.
  let read = [0, 0, 0, 0]
  let written = read
  const lines = mappings.split(';').map((line) => {
    read = [0, ...read.slice(1)]
    written = [0, ...written.slice(1)]
    const kept: string[] = []
    let last: string | undefined
    for (const segment of line.split(',').filter(Boolean)) {
      const change = decode(segment)
      read = read.map((number, field) => number + (change[field] ?? 0))
      const place = change.length === 1 || left.has(read[1]!) ? 'none' : `${read[1]}:${read[2]}`
      if (place === last) continue
      last = place
      const fields = place === 'none' ? read.slice(0, 1) : read
      kept.push(fields.map((number, field) => encode(number - written[field]!)).join(''))
      written = [...fields, ...written.slice(fields.length)]
    }
    return kept.join(',')
  })
  return lines.join(';')
}

/** Empties the lines of comments: a stack trace shows lines of code, and no line changes its number. */
function withoutComments(source: string): string {
  let inside = false
  const lines = source.split('\n').map((line) => {
    const text = line.trim()
    const begins = text.startsWith('/*')
    const isComment = inside || begins || text.startsWith('//')
    if (begins) inside = true
    if (inside && text.endsWith('*/')) inside = false
    return isComment ? '' : line
  })
  return lines.join('\n')
}

/**
 * Rewrites the source maps in `folder`. Comments and libraries are left out, the texts of translations, and names: a stack trace shows those
 * of functions, which stay.
 */
export function shortenMaps(folder: string): void {
  for (const file of globSync('**/*.js.map', { cwd: folder })) {
    const path = join(folder, file)
    const map = JSON.parse(readFileSync(path, 'utf8')) as SourceMap
    const left = new Set(
      map.sources.flatMap((source, index) => (source.includes('node_modules') ? [index] : [])),
    )
    const sourcesContent = map.sourcesContent.map((content, index) =>
      left.has(index) || content === null || map.sources[index]!.includes('/pages/language/')
        ? null
        : withoutComments(content),
    )
    const mappings = linePositions(map.mappings, left)
    writeFileSync(path, JSON.stringify({ ...map, names: [], sourcesContent, mappings }))
  }
}

interface SourceMap {
  sources: string[]
  sourcesContent: (string | null)[]
  mappings: string
}
