import type { Scheme } from '../schemes/scheme.ts'

const json = /^application\/(?:json|[\w.!#$&^-]+\+json)\s*(?:;|$)/i

/** Whether the scheme accepts bodies of this type: its own types, those of JSON by default, all for an empty list. */
export function takesMediaType({ mediaTypes }: Pick<Scheme, 'mediaTypes'>, contentType: string): boolean {
  if (mediaTypes === undefined || mediaTypes.includes('application/json'))
    if (json.test(contentType)) return true
  if (mediaTypes === undefined) return false
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return mediaTypes.length === 0 || mediaTypes.includes(essence)
}
