import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isReservedAddress, withoutBrackets } from './reserved-addresses.ts'

/** A port, or the first and the last of a range. */
export type Ports = readonly (readonly [first: number, last: number])[]

/** Where connections to addresses that somebody else chose may go. */
export interface EgressRules {
  /** ALLOW_PRIVATE_NETWORK: lets everything through. */
  allowPrivateNetwork: boolean
  /** Addresses and CIDR ranges that may be connected to although they are private. */
  networks?: readonly string[]
  /** Names that may lead to private addresses: `hooks.internal`, or `*.internal` for all below it. */
  hosts?: readonly string[]
  /** Default: any. */
  ports?: Ports
}

/** Decides by the rules; who asks says what it does with a refusal. */
export class Egress {
  readonly #all: boolean
  readonly #networks = new BlockList()
  readonly #hosts: readonly string[]
  readonly #ports: Ports | undefined

  constructor({ allowPrivateNetwork, networks = [], hosts = [], ports }: EgressRules) {
    this.#all = allowPrivateNetwork
    this.#hosts = hosts.map(canonicalHost)
    this.#ports = ports
    for (const range of networks) {
      const [address = '', bits] = range.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#networks.addAddress(address, family)
      else this.#networks.addSubnet(address, Number(bits), family)
    }
  }

  /** Whether this host may lead anywhere, and over http: it was named by whoever runs the service. */
  trustsHost(host: string): boolean {
    if (this.#all) return true
    const bare = withoutBrackets(host)
    if (isIP(bare) !== 0) return this.#trusts(bare)
    const name = canonicalHost(host)
    return this.#hosts.some((pattern) =>
      pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
    )
  }

  /** Whether an address that `host` leads to must not be connected to. */
  refuses(host: string, address: string): boolean {
    return isReservedAddress(address) && !this.#trusts(address) && !this.trustsHost(host)
  }

  refusesPort(port: number): boolean {
    if (this.#all || this.#ports === undefined) return false
    return !this.#ports.some(([first, last]) => port >= first && port <= last)
  }

  #trusts(address: string): boolean {
    const bare = withoutBrackets(address).replace(/%.*$/, '')
    const family = isIP(bare)
    return family !== 0 && this.#networks.check(bare, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** As two spellings of a name can be compared: lower case, ASCII, without the dot of the root. */
function canonicalHost(host: string): string {
  const wildcard = host.startsWith('*.')
  const name = domainToASCII((wildcard ? host.slice(2) : host).replace(/\.$/, ''))
  return wildcard ? `*.${name}` : name
}

/** The port that a URL or a connection to it names, or that its scheme means. */
export function portOf(port: string, protocol: string): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
