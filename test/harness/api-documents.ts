import { inspect } from 'node:util'
import type { ApiDocument } from './conformance.ts'

/** How many documents are kept. Most services of a process are configured as one of the last few. */
const KEPT = 8

const documents = new Map<string, ApiDocument>()

/**
 * The OpenAPI document that a service answers with. Services that are configured alike have one document: to describe all routes,
 * and to read the description, takes a service twice the processor time of its start.
 * @param options all that the service was started with, but for what differs with each start
 */
export async function documentOf(baseUrl: string, options: object): Promise<ApiDocument> {
  const key = inspect(options, {
    depth: Infinity,
    maxArrayLength: null,
    maxStringLength: null,
    compact: true,
  })
  let document = documents.get(key)
  if (document) documents.delete(key)
  else {
    const answer = await fetch(new URL('/openapi.json', baseUrl))
    document = (await answer.json()) as ApiDocument
  }
  documents.set(key, document)
  if (documents.size > KEPT) documents.delete(documents.keys().next().value!)
  return document
}
