import type { Scheme } from './schemes/scheme.ts'

const json = /^application\/(?:json|[\w.!#$&^-]+\+json)\s*(?:;|$)/i

/** Whether bodies of this type are the scheme's: JSON's own types, those that it names, or all when it names none. */
export function takesMediaType({ mediaTypes }: Pick<Scheme, 'mediaTypes'>, contentType: string): boolean {
  if (mediaTypes === undefined || mediaTypes.includes('application/json'))
    if (json.test(contentType)) return true
  if (mediaTypes === undefined) return false
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return mediaTypes.length === 0 || mediaTypes.includes(essence)
}
