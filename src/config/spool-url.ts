import { resolve } from 'node:path'

/** The default size limit of a spool, in bytes: an hour of 500 webhooks of 1 KiB a second. */
const mostBytes = 4 * 1024 ** 3
/** The lowest size limit, in bytes. A smaller spool could not store one body of the largest size. */
const leastBytes = 128 * 1024 ** 2

/** A spool in an SQLite file. */
export interface FileSpoolSettings {
  /** An absolute path. */
  readonly file: string
  /** Size of the file, in bytes, from which on the spool rejects webhooks. */
  readonly maxBytes: number
}

/**
 * Parses `SPOOL_URL`.
 * @throws Error that says what was expected, without the value: it may contain a password.
 */
export function readSpoolUrl(value: string): FileSpoolSettings {
  const [, scheme, rest = '', query = ''] = /^([a-z]+):([^?]*)(?:\?(.*))?$/i.exec(value) ?? []
  if (scheme === 'nats' || scheme === 'tls')
    throw new Error(
      'NATS is not built in: copy examples/spool-nats and set receiving.spool in postern.config.ts instead of SPOOL_URL',
    )
  if (scheme !== 'file') throw new Error('expected file: and the path of a file')
  const path = rest.replace(/^\/\/(?=\/)/, '')
  if (path === '' || path.startsWith('//') || path.endsWith('/'))
    throw new Error('expected file: and the path of a file, such as file:/var/lib/postern/spool.db')
  return { file: resolve(path), maxBytes: readMaxBytes(new URLSearchParams(query)) }
}

function readMaxBytes(parameters: URLSearchParams): number {
  for (const name of parameters.keys())
    if (name !== 'max_bytes') throw new Error('the only parameter is max_bytes')
  const text = parameters.get('max_bytes')
  if (text === null) return mostBytes
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= leastBytes && number <= Number.MAX_SAFE_INTEGER))
    throw new Error(`expected a whole number from ${leastBytes} for max_bytes`)
  return number
}
