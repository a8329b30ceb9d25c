import { isForm } from '../../http/requests/query-string.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { form, json as jsonType, kindOf } from '../schemes/body.ts'
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

const unknownType = 'application/octet-stream'

/**
 * The media type of a request for a source. `Content-Type` is not signed, so where a source takes both JSON and forms, the bytes
 * decide which of them a body is, and the header only names the kind that they have.
 */
export function mediaTypeOf(
  scheme: Pick<Scheme, 'mediaTypes'>,
  headers: IncomingHttpHeaders,
  rawBody: Uint8Array,
): string {
  const declared = headers['content-type'] ?? unknownType
  if (!takesMediaType(scheme, declared)) return declared
  if (!takesMediaType(scheme, form) || !takesMediaType(scheme, jsonType)) return declared
  const kind = kindOf(rawBody)
  if (isForm(declared) === (kind === 'form')) return declared
  return kind === 'form' ? form : kind === 'json' ? jsonType : unknownType
}

/**
 * Why the body cannot be read as sent, whatever its media type: it is compressed, or split into parts. A source that accepts every
 * type stores such bodies as bytes.
 */
export function unreadableAs(
  scheme: Pick<Scheme, 'mediaTypes'>,
  headers: IncomingHttpHeaders,
): string | undefined {
  if (scheme.mediaTypes?.length === 0) return undefined
  const coding = headers['content-encoding']
  if (coding !== undefined && !/^(identity)?$/i.test(coding))
    return `Content-Encoding: ${coding.slice(0, 50)}. Webhooks are not decompressed.`
  const type = headers['content-type']
  if (type !== undefined && /^multipart\//i.test(type) && !takesMediaType(scheme, type))
    return `Content-Type: ${type.split(';', 1)[0]!}. Its parts, such as attachments, are not read.`
  return undefined
}
