import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isReservedAddress, withoutBrackets } from './reserved-addresses.ts'

/** Ranges of ports, inclusive. */
export type Ports = readonly (readonly [first: number, last: number])[]

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

  /** Whether the operator allows this host: it may have any address, and http. */
  trustsHost(host: string): boolean {
    if (this.#all) return true
    const bare = withoutBrackets(host)
    if (isIP(bare) !== 0) return this.#trusts(bare)
    const name = canonicalHost(host)
    return this.#hosts.some((pattern) =>
      pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
    )
  }

  /** Whether connections to `address`, to which `host` resolves, are refused. */
  refuses(host: string, address: string): boolean {
    return isReservedAddress(address) && !this.#trusts(address) && !this.trustsHost(host)
  }

  refusesPort(port: number): boolean {
    if (this.#all || this.#ports === undefined) return false
    return !this.#ports.some(([first, last]) => port >= first && port <= last)
  }

  #trusts(address: string): boolean {
    const bare = withoutBrackets(address).split('%', 1)[0]!
    const family = isIP(bare)
    return family !== 0 && this.#networks.check(bare, family === 6 ? 'ipv6' : 'ipv4')
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
