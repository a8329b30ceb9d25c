/** A path that every program reads in the same way: no escapes, no empty segments, no dots at the start of a segment. */
const plain = /^(?:\/(?!\.)[\w\-~!$&'()*+,=:@.]+)*\/?$/

export function isPlain(path: string): boolean {
  return plain.test(path)
}

/** The readings of one path at most, and the characters of all of them at most. Paths in use have fewer than ten readings. */
const mostReadings = 256
const mostCharacters = 131_072

/** What an application, or a proxy before it, may do to a path. Each step leaves a path as it is, or makes it simpler. */
const steps: readonly ((path: string) => string)[] = [
  (path) => path.replaceAll(/%[0-9a-f]{2}/gi, byteOf),
  // The URL class of browsers and Node decodes only these, and keeps `%2f`.
  (path) => path.replaceAll(/%2e/gi, '.'),
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replaceAll(/\/{2,}/g, '/'),
  (path) => path.replaceAll(/;[^/]*/g, ''),
  (path) => path.replaceAll(/;[^/\\]*/g, ''),
  // `new URL('//a/b', base)` takes `a` for a host.
  (path) => path.replace(/^[/\\]{2,}[^/\\]*[/\\]*/, '/'),
  resolved,
]

/**
 * The ways in which an application may read the path of a request. Applications differ in whether they decode escapes (`%2f`), resolve
 * `..`, merge slashes, take `\` for `/` and remove parameters (`;v=1`), in the order of these steps, and in how often they take them.
 * A rule must therefore hold for each result of the steps, in each order.
 * @param path without the query; one character for each byte, as Node reads a header
 * @returns `undefined` for a path with too many readings, which no sensible client sends
 */
export function readingsOf(path: string): readonly string[] | undefined {
  if (isPlain(path)) return [path]
  const readings = new Set([path])
  let characters = path.length
  // The loop also visits what it adds.
  for (const reading of readings)
    for (const step of steps) {
      const next = step(reading)
      if (readings.has(next)) continue
      readings.add(next)
      characters += next.length
      if (readings.size > mostReadings || characters > mostCharacters) return undefined
    }
  return [...new Set([...readings].flatMap((reading) => [reading, asUtf8(reading)]))]
}

function byteOf(escaped: string): string {
  return String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
}

/** Bytes that are no UTF-8 become the replacement character, which no pattern contains. */
function asUtf8(bytes: string): string {
  // oxlint-disable-next-line no-control-regex -- it matches all bytes
  return /^[\u0000-\u00ff]*$/.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes
}

/**
 * Removes dot segments as RFC 3986 does (section 5.2.4): an empty segment is one that `..` removes. Programs that remove empty segments
 * first take two steps.
 */
function resolved(path: string): string {
  const [, ...all] = path.split('/')
  const segments: string[] = []
  for (const segment of all) {
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
  }
  const last = all.at(-1)
  if (last === '.' || last === '..') segments.push('')
  return `/${segments.join('/')}`
}
