/** A path that every program reads in the same way: no escapes, no empty segments, no dots at the start of a segment. */
const plain = /^(?:\/(?!\.)[\w\-~!$&'()*+,=:@.]+)*\/?$/

export function isPlain(path: string): boolean {
  return plain.test(path)
}

/** How often an application and its proxies may decode a path, at most. */
const mostDecodings = 3

/**
 * The ways in which an application may read the path of a request. Applications differ in whether they decode escapes (`%2f`), resolve
 * `..`, merge slashes, take `\` for `/` and remove parameters (`;v=1`). A rule must therefore hold for each of these readings.
 * @param path without the query
 */
export function readingsOf(path: string): readonly string[] {
  if (isPlain(path)) return [path]
  const readings = new Set<string>()
  let text = path
  for (let count = 0; count <= mostDecodings; count += 1) {
    for (const variant of [text, text.replaceAll(/;[^/\\]*/g, '')]) {
      readings.add(variant)
      readings.add(resolved(variant))
      readings.add(resolved(variant.replaceAll('\\', '/')))
    }
    const decoded = decode(text)
    if (decoded === text) break
    text = decoded
  }
  return [...readings]
}

/** Escapes that are no UTF-8 become the replacement character, which no pattern contains. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString(),
  )
}

/** Removes dot segments and empty segments. A slash at the end stays. */
function resolved(path: string): string {
  const segments: string[] = []
  const all = path.split('/')
  for (const segment of all) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  const last = all.at(-1)
  const isFolder = segments.length > 0 && (last === '' || last === '.' || last === '..')
  return `/${segments.join('/')}${isFolder ? '/' : ''}`
}
