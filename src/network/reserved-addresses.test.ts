import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Egress, faultOfDestination, isReservedAddress, reservedIpv4, reservedIpv6 } from './egress.ts'

test('the first and last address of every reserved IPv4 range are reserved, also embedded in IPv6', () => {
  for (const range of reservedIpv4) {
    for (const address of edges(range)) {
      for (const spelled of [address, `::ffff:${address}`, `[::ffff:${address}]`, `64:ff9b::${address}`]) {
        assert.ok(isReservedAddress(spelled), spelled)
      }
    }
  }
})

test('the addresses next to reserved ranges are public, also mapped and by NAT64', () => {
  const neighbours = [
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '8.8.8.8',
  ]
  for (const address of neighbours) {
    for (const spelled of [address, `::ffff:${address}`, `64:ff9b::${address}`])
      assert.ok(!isReservedAddress(spelled), spelled)
  }
})

test('IPv6: only global unicast is public, except reserved ranges within it', () => {
  const reserved = [
    '::',
    '::1',
    '[::1]',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b:1::1',
    '100::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:1ff::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '3fff::1',
    '5f00::1',
    '4000::1',
    '::ffff:7f00:1',
  ]
  for (const address of reserved) assert.ok(isReservedAddress(address), address)
  for (const range of reservedIpv6) assert.ok(isReservedAddress(range.split('/')[0]!), range)
  for (const address of ['2001:4860:4860::8888', '2606:4700::1111', '[2a00:1450::1]', '2001:200::1']) {
    assert.ok(!isReservedAddress(address), address)
  }
})

test('invalid addresses count as reserved', () => {
  for (const text of ['', 'localhost', 'example.com', '127.1', '0x7f.0.0.1', '1.2.3', '1.2.3.4.5', '::g'])
    assert.ok(isReservedAddress(text), text)
})

const strict = new Egress({ allowPrivateNetwork: false })
const open = new Egress({ allowPrivateNetwork: true })

test('an address is refused at registration in every spelling that a URL allows', () => {
  const hosts = [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '017700000001',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '127.0.0.1.',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '①②⑦.0.0.1',
    '１２７.０.０.１',
    '127.0.0.1%2e',
    '%31%32%37.0.0.1',
    '0x7f.0x0.0x0.0x1',
    '00000177.1',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2001:0:7f00:1::]',
    '[::]',
    '[ff02::1]',
    'ⓛocalhost',
    'localhost%2e',
    '127。0。0。1',
    '0',
    '0.0.0.0',
    '169.254.169.254',
    '2852039166',
    '100.100.100.200',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '224.0.0.1',
    '255.255.255.255',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
  ]
  for (const host of hosts) {
    assert.match(
      faultOfDestination(`https://${host}/hook`, strict) ?? 'accepted',
      /private or reserved/,
      host,
    )
    assert.equal(
      faultOfDestination(`http://${host}/hook`, open),
      undefined,
      `${host} when private networks are allowed`,
    )
  }
})

test('an address without https or with credentials is refused with the reason', () => {
  const cases: [url: string, reason: RegExp][] = [
    ['', /whole http or https URL/],
    ['/hook', /whole http or https URL/],
    ['ftp://example.com/', /whole http or https URL/],
    ['file:///etc/passwd', /whole http or https URL/],
    ['javascript:alert(1)', /whole http or https URL/],
    ['https://user:pass@example.com/', /credentials/],
    ['https://user@example.com/', /credentials/],
    ['https://example.com/#part', /fragment/],
    ['https://example.com:0/', /port 0/],
    ['http://example.com/', /must be https/],
    [`https://example.com/${'a'.repeat(2048)}`, /longer than 2048/],
  ]
  for (const [url, reason] of cases) assert.match(faultOfDestination(url, strict) ?? 'accepted', reason, url)
  for (const url of [
    'https://example.com',
    'https://example.com:8443/a?b=c',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
  ])
    assert.equal(faultOfDestination(url, strict), undefined, url)
})

function edges(range: string): string[] {
  const [network = '', bits] = range.split('/')
  const first = network.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const last = first + 2 ** (32 - Number(bits)) - 1
  return [first, last].map((address) =>
    [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.'),
  )
}
