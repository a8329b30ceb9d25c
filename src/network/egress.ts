import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** Ranges of ports, inclusive. */
type Ports = readonly (readonly [first: number, last: number])[]

/** Whether a text is an address, or a CIDR range such as `10.0.0.0/8`. */
export function isRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** Addresses and CIDR ranges. */
export class AddressRanges {
  readonly #list = new BlockList()

  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  /** Whether an IP address (with or without brackets or a zone) is one of them. IPv4 that is mapped into IPv6 counts as IPv4. */
  has(address: string): boolean {
    const bare = withoutBrackets(address).split('%', 1)[0]!
    const family = isIP(bare)
    return family !== 0 && this.#list.check(bare, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** The allowed destinations of connections to addresses that users or providers supply. */
export interface EgressRules {
  /** ALLOW_PRIVATE_NETWORK: allows all destinations. */
  allowPrivateNetwork: boolean
  /** Private addresses and CIDR ranges that are allowed. */
  networks?: readonly string[]
  /** Names that may resolve to private addresses: `hooks.internal`, or `*.internal` for all names below it. */
  hosts?: readonly string[]
  /** Default: any. */
  ports?: Ports
}

/** Evaluates the rules. The caller reports a refusal. */
export class Egress {
  readonly #all: boolean
  readonly #networks: AddressRanges
  readonly #hosts: readonly string[]
  readonly #ports: Ports | undefined

  constructor({ allowPrivateNetwork, networks = [], hosts = [], ports }: EgressRules) {
    this.#all = allowPrivateNetwork
    this.#hosts = hosts.map(canonicalHost)
    this.#ports = ports
    this.#networks = new AddressRanges(networks)
  }

  /** Whether the operator allows this host: it may have any address, and http. */
  trustsHost(host: string): boolean {
    if (this.#all) return true
    const bare = withoutBrackets(host)
    if (isIP(bare) !== 0) return this.#networks.has(bare)
    const name = canonicalHost(host)
    return this.#hosts.some((pattern) =>
      pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
    )
  }

  /** Whether connections to `address`, to which `host` resolves, are refused. */
  refuses(host: string, address: string): boolean {
    return isReservedAddress(address) && !this.#networks.has(address) && !this.trustsHost(host)
  }

  refusesPort(port: number): boolean {
    if (this.#all || this.#ports === undefined) return false
    return !this.#ports.some(([first, last]) => port >= first && port <= last)
  }
}

/** The form in which names are compared: lower case, ASCII, without a dot at the end. */
function canonicalHost(host: string): string {
  const wildcard = host.startsWith('*.')
  const name = domainToASCII((wildcard ? host.slice(2) : host).replace(/\.$/, ''))
  return wildcard ? `*.${name}` : name
}

/** Returns the port of a URL or connection, or the default one of its scheme. */
export function portOf(port: string, protocol: string): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

/** For addresses that an operator chooses: all are allowed. */
export const anywhere = new Egress({ allowPrivateNetwork: true })

/**
 * IPv4 ranges that are not public: the IANA registry of special-purpose addresses
 * (https://www.iana.org/assignments/iana-ipv4-special-registry), multicast and class E.
 */
export const reservedIpv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays, withdrawn
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
] as const

/**
 * IPv6 ranges inside 2000::/3 (global unicast) that are not public
 * (https://www.iana.org/assignments/iana-ipv6-special-registry). All addresses outside 2000::/3 are not public either.
 */
export const reservedIpv6 = [
  '2001::/23', // protocol assignments, Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: carries any IPv4 address, private ones too
  '3fff::/20', // documentation
] as const

/** Prefixes whose last 32 bits are the IPv4 address of the destination: mapped (RFC 4291) and NAT64 (RFC 6052). */
const embedding = ['::ffff:', '64:ff9b::'] as const

const globalUnicast = new AddressRanges(['2000::/3'])
const embedded = new AddressRanges(embedding.map((prefix) => `${prefix}0.0.0.0/96`))
const reserved = new AddressRanges([
  ...reservedIpv6,
  ...reservedIpv4,
  ...reservedIpv4.flatMap((range) => {
    const [network, bits] = range.split('/')
    return embedding.map((prefix) => `${prefix}${network}/${96 + Number(bits)}`)
  }),
])

/**
 * Whether an IP address (with or without brackets or a zone) is loopback, private, link-local, multicast, documentation
 * or reserved otherwise. Other texts count as reserved: the caller resolves names first.
 */
export function isReservedAddress(address: string): boolean {
  const bare = withoutBrackets(address).split('%', 1)[0]!
  if (isIP(bare) === 0 || reserved.has(bare)) return true
  return isIP(bare) === 6 && !globalUnicast.has(bare) && !embedded.has(bare)
}

/** The host of a URL in the form that net.isIP and net.connect expect. */
export function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

/**
 * Whether a host's name or address always means this machine: `localhost`, 127.0.0.0/8 or ::1, with or without brackets.
 * Other names do not count, because their addresses can change.
 */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}

/** The host name of a Host header. */
export function hostnameOf(host: string): string {
  return host.replace(/:\d+$/, '')
}

const longest = 2048

/**
 * Returns why the service must not call an address, as a sentence, or `undefined`. Registration thereby refuses what the
 * connector would refuse later. Names are resolved only on connecting, because their addresses may change until then.
 */
export function faultOfDestination(text: string, egress: Egress): string | undefined {
  if (text.length > longest) return `The address is longer than ${longest} characters.`
  // The parser of URLs would remove them.
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(text))
    return 'The address must not contain line breaks, tabs or other control characters.'
  const url = URL.parse(text)
  // The parser accepts `https:host` and `https:\\host` as well.
  if (!url || !/^\s*https?:\/\/[^/\\]/i.test(text)) return 'The address must be a whole http or https URL.'
  if (url.username !== '' || url.password !== '') {
    return 'The address must not contain credentials; send them in a header.'
  }
  if (url.hash !== '') return 'The address must not have a fragment: it would never be sent.'
  if (url.port === '0') return 'The address names port 0, which cannot be connected to.'
  if (egress.refusesPort(portOf(url.port, url.protocol)))
    return 'The address names a port that is not allowed; see EMIT_PORTS.'
  const unusable = faultOfHost(url.hostname)
  if (unusable !== undefined) return unusable
  if (egress.trustsHost(url.hostname)) return undefined
  if (url.protocol !== 'https:')
    return 'The address must be https; http is for ALLOW_PRIVATE_NETWORK=true and allowed hosts only.'
  const host = withoutBrackets(url.hostname)
  if (isIP(host) !== 0 ? egress.refuses(host, host) : /(^|\.)localhost\.?$/.test(host)) {
    return 'The address is private or reserved; only ALLOW_PRIVATE_NETWORK=true or an allow-list lets it be called.'
  }
  return undefined
}

/** Why a host cannot exist in DNS (RFC 1035, section 2.3.4). Underscores occur in practice. */
function faultOfHost(hostname: string): string | undefined {
  if (isIP(withoutBrackets(hostname)) !== 0) return undefined
  const name = hostname.replace(/\.$/, '')
  if (name.includes('*')) return 'The address names a host with `*`: register each host.'
  if (name.length > 253) return 'The address names a host of more than 253 characters.'
  for (const label of name.split('.')) {
    if (label === '')
      return 'The address names a host with an empty part: two dots follow each other, or one begins it.'
    if (label.length > 63) return 'The address names a host with a part of more than 63 characters.'
    if (!/^[a-z0-9_-]+$/.test(label)) return 'The address names a host with characters that no host name has.'
  }
  return undefined
}
