import { BlockList, isIP } from 'node:net'

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

const reserved = new BlockList()
const globalUnicast = new BlockList()
const embedded = new BlockList()

globalUnicast.addSubnet('2000::', 3, 'ipv6')
for (const prefix of embedding) embedded.addSubnet(`${prefix}0.0.0.0`, 96, 'ipv6')
for (const range of reservedIpv6) {
  const [network, bits] = split(range)
  reserved.addSubnet(network, bits, 'ipv6')
}
for (const range of reservedIpv4) {
  const [network, bits] = split(range)
  reserved.addSubnet(network, bits, 'ipv4')
  for (const prefix of embedding) reserved.addSubnet(`${prefix}${network}`, 96 + bits, 'ipv6')
}

function split(range: string): [network: string, bits: number] {
  const [network = '', bits] = range.split('/')
  return [network, Number(bits)]
}

/**
 * Whether an IP address (with or without brackets or a zone) is loopback, private, link-local, multicast, documentation
 * or reserved otherwise. Other texts count as reserved: the caller resolves names first.
 */
export function isReservedAddress(address: string): boolean {
  const bare = withoutBrackets(address).split('%', 1)[0]!
  const version = isIP(bare)
  if (version === 4) return reserved.check(bare, 'ipv4')
  if (version === 6) {
    return (
      reserved.check(bare, 'ipv6') || !(globalUnicast.check(bare, 'ipv6') || embedded.check(bare, 'ipv6'))
    )
  }
  return true
}

/** The host of a URL in the form that net.isIP and net.connect expect. */
export function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
