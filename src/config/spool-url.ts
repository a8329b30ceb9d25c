import { resolve } from 'node:path'

/** The default size limit of a spool, in bytes: an hour of 500 webhooks of 1 KiB a second. */
const mostBytes = 4 * 1024 ** 3
/** The lowest size limit, in bytes. A smaller spool could not store one body of the largest size. */
const leastBytes = 128 * 1024 ** 2

/** A spool in an SQLite file. */
export interface FileSpoolSettings {
  readonly kind: 'file'
  /** An absolute path. */
  readonly file: string
  /** Bytes of the file from which on the spool refuses webhooks. */
  readonly maxBytes: number
}

/** Absolute paths of PEM files, which are read again for each connection. */
export interface NatsTls {
  /** The trusted certificate authorities, instead of the default ones. */
  readonly ca?: string
  /** The client certificate and its key: both or neither. */
  readonly cert?: string
  readonly key?: string
}

/** A spool in a stream of NATS JetStream. */
export interface NatsSpoolSettings {
  readonly kind: 'nats'
  /** `host:port`, of one cluster. */
  readonly servers: readonly string[]
  /** Set for `tls://`. Otherwise TLS is used only if the server requires it, with the default authorities. */
  readonly tls: NatsTls | undefined
  readonly credentials:
    | { readonly user: string; readonly pass: string }
    | { readonly token: string }
    | undefined
  readonly stream: string
  /** Servers that must store each message before it is acknowledged. */
  readonly replicas: number
  /** Bytes of the stream from which on the spool refuses webhooks. */
  readonly maxBytes: number
}

export type SpoolSettings = FileSpoolSettings | NatsSpoolSettings

/**
 * Parses `SPOOL_URL`.
 * @throws Error that says what was expected, without the value: it may contain a password.
 */
export function readSpoolUrl(value: string): SpoolSettings {
  const [, scheme, rest = '', query = ''] = /^([a-z]+):([^?]*)(?:\?(.*))?$/i.exec(value) ?? []
  const parameters = new URLSearchParams(query)
  if (scheme === 'file') return readFileUrl(rest, parameters)
  if (scheme === 'nats' || scheme === 'tls') return readNatsUrl(scheme, rest, parameters)
  throw new Error('expected an address that begins with file:, nats:// or tls://')
}

function readFileUrl(rest: string, parameters: URLSearchParams): FileSpoolSettings {
  const path = rest.replace(/^\/\/(?=\/)/, '')
  if (path === '' || path.startsWith('//') || path.endsWith('/'))
    throw new Error('expected file: and the path of a file, such as file:/var/lib/postern/spool.db')
  const maxBytes = readNumber(parameters, 'max_bytes', leastBytes, Number.MAX_SAFE_INTEGER) ?? mostBytes
  refuseOthers(parameters, ['max_bytes'])
  return { kind: 'file', file: resolve(path), maxBytes }
}

function readNatsUrl(scheme: string, rest: string, parameters: URLSearchParams): NatsSpoolSettings {
  const [, before, hosts = ''] = /^\/\/(?:([^@]*)@)?([^/@]+)\/?$/.exec(rest) ?? []
  const servers = hosts.split(',').filter((server) => server !== '')
  const isServer = (server: string): boolean => {
    const url = URL.canParse(`http://${server}`) ? new URL(`http://${server}`) : undefined
    return url !== undefined && url.hostname !== '' && url.pathname === '/'
  }
  if (servers.length === 0 || !servers.every(isServer))
    throw new Error('expected nats:// or tls:// and servers, such as nats://user:password@one:4222,two:4222')
  const stream = parameters.get('stream') ?? 'POSTERN_SPOOL'
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(stream))
    throw new Error('expected letters, digits, _ and -, at most 64, for stream')
  const replicas = readNumber(parameters, 'replicas', 1, 5) ?? 3
  const maxBytes = readNumber(parameters, 'max_bytes', leastBytes, Number.MAX_SAFE_INTEGER) ?? mostBytes
  const tls = readTls(scheme, parameters)
  refuseOthers(parameters, ['stream', 'replicas', 'max_bytes', ...tlsFiles])
  return {
    kind: 'nats',
    servers: servers.map((server) => (/:\d+$/.test(server) ? server : `${server}:4222`)),
    tls,
    credentials: before ? readCredentials(before) : undefined,
    stream,
    replicas,
    maxBytes,
  }
}

/** The names are those of the `nats` command's contexts. */
const tlsFiles = ['ca', 'cert', 'key'] as const

function readTls(scheme: string, parameters: URLSearchParams): NatsTls | undefined {
  const named = tlsFiles.filter((name) => parameters.has(name))
  if (scheme !== 'tls') {
    if (named.length > 0) throw new Error(`${named.join(', ')} need tls://`)
    return undefined
  }
  if (parameters.has('cert') !== parameters.has('key'))
    throw new Error('cert and key are only valid together')
  if (named.some((name) => parameters.get(name) === ''))
    throw new Error(`expected the path of a PEM file for ${named.join(', ')}`)
  return Object.fromEntries(named.map((name) => [name, resolve(parameters.get(name)!)]))
}

/** `user:password`, or a token, percent-encoded. */
function readCredentials(text: string): NatsSpoolSettings['credentials'] {
  const colon = text.indexOf(':')
  try {
    if (colon === -1) return { token: decodeURIComponent(text) }
    return {
      user: decodeURIComponent(text.slice(0, colon)),
      pass: decodeURIComponent(text.slice(colon + 1)),
    }
  } catch {
    // The original error contains the credentials.
    throw new Error('expected user and password percent-encoded')
  }
}

function readNumber(
  parameters: URLSearchParams,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const text = parameters.get(name)
  if (text === null) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= least && number <= most))
    throw new Error(`expected a whole number from ${least} to ${most} for ${name}`)
  return number
}

function refuseOthers(parameters: URLSearchParams, known: readonly string[]): void {
  for (const name of parameters.keys())
    if (!known.includes(name)) throw new Error(`the only parameters are ${known.join(', ')}`)
}
