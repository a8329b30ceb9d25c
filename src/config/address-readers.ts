import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { domainToASCII } from 'node:url'
import { isLoopbackHost, isRange } from '../network/egress.ts'
import { parseAddress } from '../storage/postgres/servers/address.ts'
import { type Reader, list } from './readers.ts'

/** Addresses and CIDR ranges, comma-separated. A range of all addresses is refused. */
export const networks: Reader<string[]> = (value) =>
  list(value).map((item) => {
    if (!isRange(item))
      throw new Error('expected addresses or CIDR ranges such as 10.0.0.0/8, comma-separated')
    if (/\/0+$/.test(item))
      throw new Error(`${item} contains all addresses: name the addresses of your proxies`)
    return item
  })

/** Host names, comma-separated. `*.` at the beginning matches all names below. */
export const hosts: Reader<string[]> = (value) =>
  list(value).map((item) => {
    const name = item.replace(/^\*\./, '')
    if (!/^[^\s/:@*]+$/.test(name) || domainToASCII(name) === '' || isIP(name) !== 0)
      throw new Error('expected host names such as hooks.example.com or *.example.com, comma-separated')
    return item
  })

/** Reads `80,443,1024-65535`. */
export const ports: Reader<[first: number, last: number][]> = (value) => {
  const ranges = list(value).map((item): [number, number] => {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(item) ?? []
    const range: [number, number] = [Number(first), Number(last)]
    if (!(range[0] >= 1 && range[0] <= range[1] && range[1] <= 65_535))
      throw new Error('expected ports and ranges such as 443,8000-8999')
    return range
  })
  if (ranges.length === 0) throw new Error('expected at least one port')
  return ranges
}

/** The address of an HTTP proxy, with its credentials if it needs them. */
export const proxy: Reader<string> = (value) => {
  const url = URL.parse(value)
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw new Error('expected the address of an HTTP proxy such as http://proxy.internal:3128')
  return url.href
}

/** The address of a mail server, with its credentials if it needs them. */
export const smtpUrl: Reader<string> = (value) => {
  const url = URL.parse(value)
  const { protocol, hostname, pathname, search, hash } = url ?? {}
  if (!/^smtps?:$/.test(protocol ?? '') || !hostname || !/^\/?$/.test(pathname ?? '') || search || hash)
    throw new Error('expected the address of a mail server such as smtp://user:password@mail.example.com:587')
  return value
}

/** `name@example.com` or `Name <name@example.com>`. */
export const mailFrom: Reader<string> = (value) => {
  const address = /^(?:[^<>\r\n]+<([^<>\s]+)>|([^<>\s]+))$/.exec(value)
  if (!/^[^\s@]+@[^\s@]+$/.test(address?.[1] ?? address?.[2] ?? ''))
    throw new Error('expected an address such as Postern <postern@example.com>')
  return value
}

/** The address of a page that other pages link to. */
export const link: Reader<string> = (value) => {
  const url = URL.parse(value)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('expected an address such as https://example.com/terms')
  return url.href
}

/** The address of a page, or of an email account. The result is a link. */
export const contact: Reader<string> = (value) => {
  if (/^[^\s@<>:/?&]+@[^\s@<>:/?&]+$/.test(value)) return `mailto:${value}`
  const url = URL.parse(value)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Error('expected an address such as support@example.com or https://example.com/support')
  return url.href
}

/** An http or https address without query and credentials. A slash at its end is removed. */
export const publicAddress: Reader<string> = (value) => {
  const url = URL.parse(value)
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    !/^(?:\/[\w.~-]+)*\/?$/.test(url.pathname) ||
    url.search ||
    url.hash ||
    url.username
  ) {
    throw new Error('expected an address such as https://gate.example.com or https://example.com/gate')
  }
  return url.origin + url.pathname.replace(/\/$/, '')
}

/**
 * Origins as browsers write them, comma-separated. http is accepted for loopback only: on a network, an attacker could answer
 * for such an origin. Patterns and `null` are refused, since any page can have the origin `null`.
 */
export const origins: Reader<string[]> = (value) =>
  list(value).map((item) => {
    const url = URL.parse(item)
    const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
    if (!url || !safe || url.origin !== item || item.includes('*'))
      throw new Error(
        'expected origins such as https://app.example.com, comma-separated, exactly as browsers send them: lower case, no path, no default port, no *; http for loopback only',
      )
    return item
  })

/** The identifiers of APIs (RFC 8707, section 2), comma-separated. Tokens carry them as written. */
export const apis: Reader<string[]> = (value) =>
  list(value).map((item) => {
    if (!URL.canParse(item) || /[\s#]/.test(item))
      throw new Error('expected addresses of APIs without fragments, comma-separated')
    return item
  })

export const databaseUrl: Reader<string> = (value) => {
  if (!/^(sqlite:.|postgres(ql)?:\/\/)/.test(value))
    throw new Error('expected an address that begins with sqlite: or postgres://')
  if (!value.startsWith('sqlite:')) parseAddress(value)
  return value
}

export const postgresUrl: Reader<string> = (value) => {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new Error('expected an address that begins with postgres://')
  parseAddress(value)
  return value
}

/**
 * The target of the audit log. A webhook over http is accepted for loopback only; syslog without TLS needs the explicit
 * `syslog+tcp`.
 */
export const auditExport: Reader<string> = (value) => {
  const url = URL.parse(value)
  const plain = url?.protocol === 'http:' && isLoopbackHost(url.hostname)
  const webhook = (url?.protocol === 'https:' || plain) && url?.username === '' && url.hash === ''
  const syslog = /^syslog\+(?:tls|tcp):\/\/[^/?#@]+$/.test(value) && url?.hostname !== ''
  if (!webhook && !syslog)
    throw new Error(
      'expected https://…, syslog+tls://host:port or syslog+tcp://host:port; http for loopback only',
    )
  return value
}

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
export function spoolUrl(value: string): FileSpoolSettings {
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
