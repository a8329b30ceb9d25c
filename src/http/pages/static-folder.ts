import type { FastifyReply, FastifyRequest } from 'fastify'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { acceptedCoding, type Coding, encodeOnce } from '../caching/content-coding.ts'
import { entityTag, matches } from '../caching/tagged-answer.ts'

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
}

interface EncodedFile {
  body: Buffer
  tag: string
}

export interface StaticFolderOptions {
  /** Whether the name of a file changes with its content, so that browsers may cache it for a year. Others revalidate it. */
  isImmutable: (name: string) => boolean
  /** Changes the text of a file before it is sent the first time. */
  edit?: (text: string) => string
}

/**
 * The files of a folder that a build wrote. Each is read and compressed at its first request and then cached, so it is for folders
 * of a few megabytes that do not change while the service runs.
 */
export class StaticFolder {
  private readonly names: ReadonlySet<string>
  private readonly encoded = new Map<string, Promise<EncodedFile>>()
  private readonly folder: string | undefined
  private readonly options: StaticFolderOptions

  /** @param folder `undefined`, or one that is missing: it has no files */
  constructor(folder: string | undefined, options: StaticFolderOptions) {
    this.folder = folder
    this.options = options
    const found = folder === undefined ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' })
    this.names = new Set(
      found.map((name) => name.replaceAll(sep, '/')).filter((name) => extname(name) in types),
    )
  }

  has(name: string): boolean {
    return this.names.has(name)
  }

  /** The text of a file as it is sent. */
  async read(name: string): Promise<string> {
    return (await this.load(name, 'identity')).body.toString()
  }

  /** Answers with a file, or 304 when the client has it. Unknown names are answered with 404. */
  async send(
    { headers }: FastifyRequest,
    reply: FastifyReply,
    name: string,
  ): Promise<FastifyReply | undefined> {
    if (!this.has(name)) {
      reply.callNotFound()
      return undefined
    }
    const coding = acceptedCoding(headers['accept-encoding'])
    const { body, tag } = await this.load(name, coding)
    reply
      .header(
        'cache-control',
        this.options.isImmutable(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      )
      .header('vary', 'accept-encoding')
      .header('etag', tag)
    if (matches(headers['if-none-match'], tag)) return reply.code(304).send()
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply.type(types[extname(name)]!).send(body)
  }

  private load(name: string, coding: Coding): Promise<EncodedFile> {
    const key = `${coding} ${name}`
    let file = this.encoded.get(key)
    if (!file) this.encoded.set(key, (file = this.encode(name, coding)))
    return file
  }

  private async encode(name: string, coding: Coding): Promise<EncodedFile> {
    const { edit } = this.options
    let body: Buffer = await readFile(join(this.folder!, name))
    if (edit && types[extname(name)]!.includes('charset')) body = Buffer.from(edit(body.toString()))
    const tag = entityTag(body)
    return { body: await encodeOnce(body, coding), tag }
  }
}
