import { hash } from 'node:crypto'
import { inspect } from 'node:util'
import { BoundedCache } from '../../src/runtime/bounded-cache.ts'
import type { ApiDocument } from './conformance.ts'

/** Of options, and of documents. Most services of a process are configured as one of the last few. */
const remembered = 32

/** By the options of services, and by content: what is compiled for a document serves all services that have it. */
const byOptions = new BoundedCache<string, ApiDocument>(remembered)
const byContent = new BoundedCache<string, ApiDocument>(remembered)

/**
 * The OpenAPI document of a service. Services that are configured alike have one document: to describe all routes takes a service as
 * much processor time as its start.
 * @param describe makes the description, as the answer to `GET /openapi.json` has it
 * @param options all that the service was started with, but for what differs with each start
 */
export function documentOf(describe: () => unknown, options: object): ApiDocument {
  const key = keyOf(options)
  let document = byOptions.get(key)
  if (!document) byOptions.set(key, (document = sharedDocument(JSON.stringify(describe()))))
  return document
}

/** Ports differ with each start, and no description of a route names one. */
function keyOf(options: object): string {
  const all = inspect(options, {
    depth: Infinity,
    maxArrayLength: null,
    maxStringLength: null,
    compact: true,
  })
  return all.replace(/(127\.0\.0\.1|localhost):\d+/g, '$1')
}

function sharedDocument(text: string): ApiDocument {
  const digest = hash('sha256', text)
  let document = byContent.get(digest)
  if (!document) byContent.set(digest, (document = JSON.parse(text) as ApiDocument))
  return document
}
