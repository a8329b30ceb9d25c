import { readFileSync } from 'node:fs'

/** Every /login page contains all icons. */
const maxBytes = 64 * 1024
const types: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
  jpg: 'image/jpeg',
  gif: 'image/gif',
}

/** The default icon on /login: the first letter of the label on the provider's colour, as a data: URI. */
export function letterIcon(label: string, colour: string): string {
  const letter = /[\p{L}\p{N}]/u.exec(label)?.[0]?.toUpperCase() ?? ''
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="${colour}"/><text x="12" y="17" font-family="sans-serif" font-size="14" font-weight="700" text-anchor="middle" fill="#fff">${letter}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/**
 * A configured icon as a data: URI, since the pages' policy allows no other images. A file is read once, at the start.
 * @throws Error with the expected form.
 */
export function readIcon(configured: string): string {
  if (configured.startsWith('data:')) {
    if (!/^data:image\/[\w.+-]+[;,]/.test(configured)) throw new Error('expected data:image/…')
    if (configured.length > maxBytes * 1.4) throw new Error(`expected at most ${maxBytes} bytes`)
    return configured
  }
  const type = types[/\.(\w+)$/.exec(configured)?.[1]?.toLowerCase() ?? '']
  if (type === undefined || /^[a-z]+:\/\//i.test(configured))
    throw new Error(`expected a file (${Object.keys(types).join(', ')}) or a data: URI`)
  let bytes: Buffer
  try {
    bytes = readFileSync(configured)
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as { code?: string }).code})`, { cause: error })
  }
  if (bytes.length > maxBytes) throw new Error(`expected at most ${maxBytes} bytes`)
  return `data:${type};base64,${bytes.toString('base64')}`
}
