import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isLoopbackHost } from '../network/loopback.ts'
import { parseAddress } from '../storage/postgres/servers/address.ts'

/** Variables, as in process.env. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Parses the text of a setting. @throws Error that says what was expected, without the value: it may be a secret. */
export type Reader<T> = (text: string) => T

export const text: Reader<string> = (value) => value

export const list: Reader<string[]> = (value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** A text of at most `most` characters in one line. */
export function line(most: number): Reader<string> {
  return (value) => {
    // oxlint-disable-next-line no-control-regex -- it matches control characters
    if (value.length > most || /[\u0000-\u001f\u007f]/.test(value))
      throw new Error(`expected one line of at most ${most} characters`)
    return value
  }
}

/** A colour as `#rrggbb`. */
export const color: Reader<string> = (value) => {
  if (!/^#[\da-f]{6}$/i.test(value)) throw new Error('expected a colour such as #1f6f5c')
  return value.toLowerCase()
}

/** Comma-separated values without spaces, because a space separates them in requests. */
export const words: Reader<string[]> = (value) =>
  list(value).map((item) => {
    if (/\s/.test(item)) throw new Error('expected values without spaces, comma-separated')
    return item
  })

/** Addresses and CIDR ranges, comma-separated. A range of all addresses is refused. */
export const networks: Reader<string[]> = (value) =>
  list(value).map((item) => {
    const [address = '', length, ...rest] = item.split('/')
    const version = isIP(address)
    const bits = length === undefined ? undefined : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
    if (version === 0 || rest.length > 0 || (bits !== undefined && !(bits <= (version === 4 ? 32 : 128))))
      throw new Error('expected addresses or CIDR ranges such as 10.0.0.0/8, comma-separated')
    if (bits === 0) throw new Error(`${item} contains all addresses: name the addresses of your proxies`)
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
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw new Error('expected the address of an HTTP proxy such as http://proxy.internal:3128')
  return url.href
}

/** The address of a mail server, with its credentials if it needs them. */
export const smtpUrl: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
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

export const flag: Reader<boolean> = (value) => {
  if (/^(true|on|yes|1)$/i.test(value)) return true
  if (/^(false|off|no|0)$/i.test(value)) return false
  throw new Error('expected true or false')
}

export function integer(least: number, most: number): Reader<number> {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most))
      throw new Error(`expected a whole number from ${least} to ${most}`)
    return number
  }
}

/** Parses seconds. Returns milliseconds. */
export function seconds(least: number, most: number): Reader<number> {
  return (value) => {
    const number = /^\d{1,12}(\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) throw new Error(`expected seconds from ${least} to ${most}`)
    return Math.round(number * 1000)
  }
}

/** Parses whole days. Returns milliseconds; Infinity for `off` and 0. */
export const days: Reader<number> = (value) => {
  if (/^off$/i.test(value)) return Infinity
  const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
  if (!(number <= 36_500)) throw new Error('expected a whole number of days up to 36500, or off')
  return number === 0 ? Infinity : number * 86_400_000
}

/** Parses seconds such as `0,5,300`. Returns milliseconds; 1 to 50 entries of at most 30 days each. */
export const schedule: Reader<number[]> = (value) => {
  const entries = list(value)
  if (entries.length === 0 || entries.length > 50)
    throw new Error('expected 1 to 50 comma-separated numbers of seconds')
  return entries.map(seconds(0, 30 * 86_400))
}

export function oneOf<T extends string>(...values: T[]): Reader<T> {
  return (value) => {
    const found = values.find((candidate) => candidate === value)
    if (found === undefined) throw new Error(`expected one of ${values.join(', ')}`)
    return found
  }
}

/** An http or https address without query and credentials. A slash at its end is removed. */
export const publicAddress: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
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
    const url = URL.canParse(item) ? new URL(item) : undefined
    const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
    if (!url || !safe || url.origin !== item || item.includes('*'))
      throw new Error(
        'expected origins such as https://app.example.com, comma-separated, exactly as browsers send them: lower case, no path, no default port, no *; http for loopback only',
      )
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

export function secret(least: number): Reader<string> {
  return (value) => {
    if (Buffer.byteLength(value) < least) throw new Error(`expected ${least} bytes or more`)
    return value
  }
}

/** Comma-separated secrets, newest first. */
export function secrets(least: number): Reader<string[]> {
  return (value) => {
    const found = list(value)
    if (found.length === 0) throw new Error('expected a secret')
    return found.map(secret(least))
  }
}

export const identities: Reader<{ provider: string; providerId: string }[]> = (value) =>
  list(value).map((item) => {
    const colon = item.indexOf(':')
    if (colon < 1 || colon === item.length - 1)
      throw new Error('expected provider:providerId, comma-separated')
    return { provider: item.slice(0, colon).toLowerCase(), providerId: item.slice(colon + 1) }
  })

/**
 * The target of the audit log. A webhook over http is accepted for loopback only; syslog without TLS needs the explicit
 * `syslog+tcp`.
 */
export const auditExport: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const plain = url?.protocol === 'http:' && isLoopbackHost(url.hostname)
  const webhook = (url?.protocol === 'https:' || plain) && url?.username === '' && url.hash === ''
  const syslog = /^syslog\+(?:tls|tcp):\/\/[^/?#@]+$/.test(value) && url !== undefined && url.hostname !== ''
  if (!webhook && !syslog)
    throw new Error(
      'expected https://…, syslog+tls://host:port or syslog+tcp://host:port; http for loopback only',
    )
  return value
}

/** Secrets of Standard Webhooks, comma-separated: `whsec_` and the base64 of 24 to 64 bytes. */
export const signingSecrets: Reader<Buffer[]> = (value) => {
  const found = list(value).map((item) => {
    const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(item)?.[1] ?? ''
    const key = Buffer.from(base64, 'base64')
    // Node's decoder skips invalid characters: encoding the result again detects them.
    if (key.toString('base64') !== base64 || key.length < 24 || key.length > 64)
      throw new Error('expected whsec_ and the base64 of 24 to 64 bytes, comma-separated')
    return key
  })
  if (found.length === 0) throw new Error('expected a secret')
  return found
}
