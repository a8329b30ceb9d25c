import type { FastifyReply, FastifyRequest } from 'fastify'
import { varyBy } from '../responses/cross-origin.ts'
import type { Sends } from '../responses/response-headers.ts'
import { hash } from 'node:crypto'
import { pipeline, type Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import { weightsOf } from '../requests/accept.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { Clock } from '../../runtime/clock.ts'

/** A page of a list as it is sent. */
export interface Answer {
  /** JSON, unless there is a `type`. */
  body: string
  type?: string
  /** The header Link (RFC 8288), with paths of this service. */
  link?: string | undefined
}

/** The headers of such answers, for their description. */
export const taggedSends: Sends = {
  always: ['ETag', 'Cache-Control', 'Vary'],
  sometimes: ['Link', 'Content-Encoding'],
}

/**
 * Sends a page of a list with its ETag, compressed when the client accepts that. A client that has this page already gets 304
 * without a body (RFC 9110, section 15.4.5).
 */
export async function sendTagged(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, link, type = 'application/json; charset=utf-8' }: Answer,
): Promise<FastifyReply> {
  const tag = entityTag(body)
  reply.header('etag', tag)
  const { basePath } = reply.server
  if (link) reply.header('link', basePath === '' ? link : link.replaceAll('</', `<${basePath}/`))
  if (matches(request.headers['if-none-match'], tag)) return reply.code(304).send()
  const coded = await encode(body, acceptedCoding(request.headers['accept-encoding']))
  if (coded.coding !== 'identity') reply.header('content-encoding', coded.coding)
  // The body is text already; as a string of this type it passes the response serializer by.
  return reply.header('content-type', type).send(coded.body)
}

/** Caches may store public answers and must revalidate them by the tag; they must not store any other answer. */
export function cacheRules(reply: FastifyReply, isPublic: boolean): void {
  reply.header('cache-control', isPublic ? 'no-cache' : 'no-store')
  varyBy(reply, 'accept-encoding')
}

/** Base64url characters of the hash that a tag shows: 120 bits. */
const length = 20

/**
 * The weak entity tag of an answer: a hash of its content. Weak, since the compressed and the plain form share it
 * (RFC 9110, section 8.8.3).
 */
function entityTag(body: string | Buffer): string {
  return `W/"${hash('sha256', body, 'base64url').slice(0, length)}"`
}

/** Whether an `If-None-Match` names this tag, by weak comparison, or is `*` (RFC 9110, section 13.1.2). */
export function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = opaqueOf(tag)
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || opaqueOf(one.trim()) === opaque)
}

function opaqueOf(tag: string): string {
  return tag.replace(/^W\//, '')
}

/*
 * Negotiates and applies content codings. @fastify/compress would bring minipass, readable-stream, mime-db and what they need for
 * these 40 lines. It also compresses every route unless told otherwise, while here only lists and exports are compressed.
 */
type Coding = 'br' | 'gzip' | 'identity'

/** Bytes below which an answer is not compressed, because it fits in one packet anyway. */
const worthCoding = 1_400
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const [compressBrotli, compressGzip] = [promisify(brotliCompress), promisify(gzip)]

/** The best coding that an Accept-Encoding (RFC 9110, section 12.5.3) allows. */
export function acceptedCoding(header: string | undefined): Coding {
  if (header === undefined) return 'identity'
  const weights = weightsOf(header)
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0
  const [br, zip] = [weightOf('br'), weightOf('gzip')]
  if (!(br > 0) && !(zip > 0)) return 'identity'
  return br >= zip ? 'br' : 'gzip'
}

/** Compresses a whole body, unless it is too short. */
async function encode(body: string, coding: Coding): Promise<{ body: string | Buffer; coding: Coding }> {
  if (coding === 'identity' || body.length < worthCoding) return { body, coding: 'identity' }
  return { body: coding === 'br' ? await compressBrotli(body, brotli) : await compressGzip(body), coding }
}

/** Compresses a body that is sent often, as far as it goes in reasonable time. */
export async function encodeOnce(body: Buffer, coding: Coding): Promise<Buffer> {
  if (coding === 'identity') return body
  if (coding === 'gzip') return compressGzip(body, { level: 9 })
  return compressBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
}

interface EncodedBody {
  body: Buffer
  tag: string
}

/** Bodies that are made and compressed at their first request and then cached: a few megabytes that do not change while the service runs. */
export class EncodedBodies {
  readonly #encoded = new Map<string, Promise<EncodedBody>>()

  /** Sends a body, or 304 if the client has it. @param make the body, of which `name` is the key */
  async send(
    reply: FastifyReply,
    name: string,
    { type, caching, make }: { type: string; caching: string; make: () => Buffer | Promise<Buffer> },
  ): Promise<FastifyReply> {
    const { headers } = reply.request
    const coding = acceptedCoding(headers['accept-encoding'])
    const key = `${coding} ${name}`
    let encoded = this.#encoded.get(key)
    if (!encoded) this.#encoded.set(key, (encoded = encodeTagged(make, coding)))
    const { body, tag } = await encoded
    reply.header('cache-control', caching).header('vary', 'accept-encoding').header('etag', tag)
    if (matches(headers['if-none-match'], tag)) return reply.code(304).send()
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply.type(type).send(body)
  }
}

async function encodeTagged(make: () => Buffer | Promise<Buffer>, coding: Coding): Promise<EncodedBody> {
  const body = await make()
  return { body: await encodeOnce(body, coding), tag: entityTag(body) }
}

/** Compresses a stream. If either stream fails or is closed, so is the other. */
export function encodeStream(stream: Readable, coding: Coding): Readable {
  if (coding === 'identity') return stream
  const encoder = coding === 'br' ? createBrotliCompress(brotli) : createGzip()
  // The reader of the encoder gets an error.
  return pipeline(stream, encoder, () => undefined)
}

interface Cached<Answer> {
  readonly at: number
  readonly answer: Promise<Answer>
}

/** Answers that are the same for all callers for some time: callers at once share one computation. */
export class SharedAnswers<Answer> {
  readonly #clock: Clock
  readonly #within: number
  readonly #cache = new BoundedCache<string, Cached<Answer> | undefined>(50)

  /** @param within milliseconds for which an answer is given again */
  constructor(clock: Clock, within: number) {
    this.#clock = clock
    this.#within = within
  }

  /** Returns the answer of `key`. A failure is not cached. */
  get(key: string, compute: () => Promise<Answer>): Promise<Answer> {
    const now = this.#clock.now()
    const cached = this.#cache.get(key)
    if (cached && Math.abs(now - cached.at) < this.#within) return cached.answer
    const made = { at: now, answer: compute() }
    this.#cache.set(key, made)
    made.answer.catch(() => {
      if (this.#cache.get(key) === made) this.#cache.set(key, undefined)
    })
    return made.answer
  }
}
