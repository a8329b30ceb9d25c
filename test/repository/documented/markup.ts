const tag = /<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:@.-]+(?:=(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*(\/?)>/g
const empty = new Set(['br', 'img', 'input', 'link', 'meta', 'hr'])

/** What is wrong with the elements of a text, if anything. */
export function markupFaultOf(text: string): string | undefined {
  const open: string[] = []
  const bare = text.replaceAll(/<!--[^]*?-->|<!doctype html>|(?<=<(script|style)[^>]*>)[^]*?(?=<\/\1>)/gi, '')
  for (const [, slash, name = '', , alone] of bare.matchAll(tag))
    if (slash === '/') {
      const last = open.pop()
      if (last !== name) return `</${name}> closes ${last}`
    } else if (alone !== '/' && !empty.has(name)) open.push(name)
  if (open.length > 0) return `${open.join()} stays open`
  if (bare.replaceAll(tag, '').includes('<')) return 'a bare <'
  return undefined
}
