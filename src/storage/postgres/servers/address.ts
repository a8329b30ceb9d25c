import { isIP } from 'node:net'

/** As in libpq: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TARGET-SESSION-ATTRS */
const sessionAttributes = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const

/** Which of several servers to use. */
export type SessionAttributes = (typeof sessionAttributes)[number]

/** One server of an address. */
export interface Host {
  /** A name, an IP address, the folder of a Unix socket, or empty for the driver's default (PGHOST, or localhost). */
  readonly name: string
  /** An IP address to connect to instead of resolving the name. Certificates are checked for the name. */
  readonly address?: string
  readonly port: number
}

/** A parsed `postgres://` URL. */
export interface PostgresAddress {
  /** At least one, in order of preference. */
  readonly hosts: readonly Host[]
  /** `undefined` if the URL does not tell. */
  readonly attributes: SessionAttributes | undefined
  /** Whether each new connection tries the hosts in random order. */
  readonly shuffled: boolean
  /** Milliseconds to connect to one server; `undefined` if the URL does not tell. */
  readonly connectWithin: number | undefined
  /** Whether to refuse a server that does not bind the sign-in to the TLS connection. */
  readonly channelBinding: boolean
  /** The name of the database; empty for the driver's default, which is the user name. */
  readonly database: string
  /** A URL for the driver, with one of the hosts. */
  urlOf(host: Host): string
  /** For programs that use libpq. */
  readonly forPrograms: ProgramAddress
}

/** The address for a program. Other users of the machine see the arguments of a process, so the password is apart. */
interface ProgramAddress {
  /** With all hosts and parameters. Of several hosts it selects one that takes writes, unless the URL tells. */
  readonly url: string
  /** For PGPASSWORD; `undefined` if the URL has none. */
  readonly password: string | undefined
}

/** Maximum of `connect_timeout` in seconds, because work waits for the connection. */
const longestConnect = 30
const most = 32
const shape = 'expected postgres://user:password@host:port/database?parameter=value'

/**
 * Parses an address as libpq does: several hosts in the URL or in `host`, `hostaddr` and `port`; IPv6 addresses in brackets; the
 * folder of a Unix socket as `host=/folder`, or percent-encoded as the host.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 * @throws Error whose message contains nothing of the address except names of parameters
 */
export function parseAddress(url: string): PostgresAddress {
  const parts = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/s.exec(url)
  const [, credentials, authority = '', path = '', query = ''] = parts ?? []
  // After a password with a slash, the rest looks like the name of a database.
  if (!parts || path.includes('@'))
    throw new Error(`${shape}; percent-encode reserved characters in the user name and password`)
  const parameters = readParameters(query)
  const hosts = readHosts(authority, parameters)
  for (const text of credentials?.split(':') ?? []) decode(text, 'the user name or password')
  const database = parameters.own.get('dbname') ?? decode(path, 'the name of the database')
  const seconds = Number(parameters.own.get('connect_timeout') ?? 0)
  const search = parameters.passedOn.toString()
  const attributes = parameters.own.get('target_session_attrs') as SessionAttributes | undefined
  return {
    hosts,
    attributes,
    shuffled: parameters.own.get('load_balance_hosts') === 'random',
    connectWithin: seconds === 0 ? undefined : Math.min(seconds, longestConnect) * 1_000,
    channelBinding: parameters.own.get('channel_binding') === 'require',
    database,
    urlOf: (host) =>
      `postgres://${credentials === undefined ? '' : `${credentials}@`}${inUrl(host)}` +
      `/${encodeURIComponent(database)}${search === '' ? '' : `?${search}`}`,
    get forPrograms() {
      const selects = hosts.length > 1 && attributes === undefined
      const [user, password] = readCredentials(credentials)
      const place = `${user === undefined ? '' : `${encodeURIComponent(user)}@`}${authority}/${path}`
      const listed = [withoutPassword(query), selects ? 'target_session_attrs=read-write' : []].flat()
      return {
        url: `postgres://${place}${listed.length === 0 ? '' : `?${listed.join('&')}`}`,
        // As in the driver, the parameter has precedence.
        password: (parameters.passedOn.get('password') ?? password) || undefined,
      }
    },
  }
}

/** A raw `:` or `@` belongs to the password, as in the driver. */
function readCredentials(credentials: string | undefined): [user?: string, password?: string] {
  if (credentials === undefined) return []
  const [user = '', ...password] = credentials.split(':')
  const decoded = decode(user, 'the user name')
  return password.length === 0 ? [decoded] : [decoded, decode(password.join(':'), 'the password')]
}

/** The other parameters as they were written: libpq does not read `+` as a space, which URLSearchParams would write. */
function withoutPassword(query: string): string[] {
  return query.split('&').filter((pair) => pair !== '' && !new URLSearchParams(pair).has('password'))
}

/** The address without user name, password and most parameters, for logs and messages. An invalid address is not shown. */
export function describeAddress(url: string): string {
  let address: PostgresAddress
  try {
    address = parseAddress(url)
  } catch {
    // The validation of the setting reports the error.
    return 'postgres://[redacted]'
  }
  const { hosts, attributes, database } = address
  const credentials = /^postgres(?:ql)?:\/\/[^/?#]*@/.test(url) ? '[redacted]@' : ''
  const parameters = attributes === undefined ? '' : `?target_session_attrs=${attributes}`
  return `postgres://${credentials}${hosts.map(inUrl).join(',')}/${database}${parameters}`
}

/** A server, for messages. */
export function describeHost({ name, port }: Host): string {
  if (name.startsWith('/')) return `${name}/.s.PGSQL.${port}`
  return `${isIP(name) === 6 ? `[${name}]` : name || 'localhost'}:${port}`
}

function inUrl({ name, port }: Host): string {
  if (name === '') return ''
  const host = isIP(name) === 6 ? `[${name}]` : encodeURIComponent(name)
  return port === defaultPort() ? host : `${host}:${port}`
}

function readHosts(authority: string, { own }: UrlParameters): Host[] {
  const inAuthority = authority.split(',').map((item) => {
    const [, bracketed, plain = '', port = ''] =
      /^(?:\[([\da-f:.%]+)\]|([^:[\]]*))(?::([^:]*))?$/i.exec(item) ?? fail('a host is invalid')
    return { name: bracketed ?? decode(plain, 'a host'), port }
  })
  const names = own.get('host')?.split(',') ?? inAuthority.map(({ name }) => name)
  const addresses = own.get('hostaddr')?.split(',')
  const count = Math.max(names.length, addresses?.length ?? 1)
  const ports = own.get('port')?.split(',') ?? inAuthority.map(({ port }) => port)
  if (count > most) fail(`more than ${most} hosts`)
  if (addresses && addresses.length !== names.length && own.has('host'))
    fail(`${addresses.length} addresses in hostaddr do not match ${names.length} hosts`)
  if (ports.length !== 1 && ports.length !== count) fail(`${ports.length} ports do not match ${count} hosts`)
  if (count > 1 && names.length === count && names.includes('')) fail('a host is empty')
  return Array.from({ length: count }, (_, index) => {
    const address = addresses?.[index]
    if (address !== undefined && isIP(address) === 0) fail('hostaddr must contain IP addresses')
    const name = names[index] ?? ''
    const port = readPort(ports[index] ?? ports[0]!)
    return { name: name || (address ?? ''), port, ...(address !== undefined && { address }) }
  })
}

function readPort(text: string): number {
  if (text === '') return defaultPort()
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return port >= 1 && port <= 65_535 ? port : fail('a port must be a number from 1 to 65535')
}

function defaultPort(): number {
  const port = Number(process.env['PGPORT'])
  return Number.isInteger(port) && port > 0 ? port : 5432
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return fail(`${what} is not percent-encoded correctly`)
  }
}

function fail(what: string): never {
  throw new Error(`${what}; ${shape}`)
}

/** What a value must be; `undefined` if any text is valid. */
type Expected = readonly string[] | 'a whole number' | undefined

/** Parameters that may have any text. */
const anyText = (names: string): Record<string, Expected> =>
  Object.fromEntries(names.split(' ').map((name) => [name, undefined]))

/** Those that `parseAddress` reads. */
const own: Readonly<Record<string, Expected>> = {
  ...anyText('host hostaddr port dbname'),
  connect_timeout: 'a whole number',
  target_session_attrs: sessionAttributes,
  load_balance_hosts: ['disable', 'random'],
  channel_binding: ['disable', 'prefer', 'require'],
}

/** For the driver. */
const passedOn: Readonly<Record<string, Expected>> = {
  ...anyText('user password application_name fallback_application_name client_encoding options'),
  statement_timeout: 'a whole number',
  lock_timeout: 'a whole number',
  idle_in_transaction_session_timeout: 'a whole number',
  ssl: ['true', '1', 'false', '0', 'no-verify'],
  sslmode: ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  ...anyText('sslcert sslkey sslrootcert'),
  uselibpqcompat: ['true', 'false'],
}

/** Accepted and ignored, because providers use them. They affect neither the choice of the server nor security. */
const withoutEffect: Readonly<Record<string, Expected>> = {
  ...anyText('keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout'),
  ...anyText('gsslib krbsrvname sslsni'),
  gssencmode: ['disable', 'prefer'],
  sslcompression: ['0'],
}

/** Known to libpq but not supported. Ignoring them could make the connection less secure than intended. */
const refusedNames = new Set(
  `passfile service require_auth sslpassword sslcrl sslcrldir sslcertmode ssl_min_protocol_version
  ssl_max_protocol_version requirepeer requiressl replication gssdelegation scram_client_key scram_server_key
  min_protocol_version max_protocol_version sslkeylogfile`.split(/\s+/),
)

const known: Readonly<Record<string, Expected>> = { ...own, ...passedOn, ...withoutEffect }

type UrlParameters = ReturnType<typeof readParameters>

/**
 * Parses the part after the question mark. Of several values of a parameter, the last one is used.
 * @throws Error that never contains a value, because a value may be a password
 */
function readParameters(text: string) {
  const found = { own: new Map<string, string>(), passedOn: new URLSearchParams() }
  for (const [name, value] of new URLSearchParams(text)) {
    if (refusedNames.has(name)) throw new Error(`the parameter ${name} is not supported`)
    // An unknown name could be a part of a password that was not percent-encoded.
    if (!Object.hasOwn(known, name))
      throw new Error(
        text.includes('@') || !/^\w{1,40}$/.test(name)
          ? 'it has an unknown parameter; percent-encode reserved characters such as ? and @ in a password'
          : `the parameter ${name} is unknown`,
      )
    checkValue(name, value)
    if (Object.hasOwn(own, name)) found.own.set(name, value)
    // The driver treats the text `false` as true.
    else if (Object.hasOwn(passedOn, name))
      found.passedOn.set(name, name === 'ssl' && value === 'false' ? '0' : value)
  }
  return found
}

function checkValue(name: string, value: string): void {
  const expected = known[name]
  if (expected === undefined) return
  if (expected === 'a whole number') {
    if (!/^\d{1,9}$/.test(value)) throw new Error(`the parameter ${name} must be a whole number`)
  } else if (!expected.includes(value))
    throw new Error(`the parameter ${name} must be one of ${expected.join(', ')}`)
}
