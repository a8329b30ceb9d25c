import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientIp, networkOf } from './client-address.ts'

const same: [network: string, ...addresses: string[]][] = [
  ['203.0.113.7', '203.0.113.7'],
  [
    '2001:db8:1:2::/64',
    '2001:db8:1:2::',
    '2001:db8:1:2::1',
    '2001:DB8:1:2:ffff:ffff:ffff:ffff',
    '2001:0db8:0001:0002:0:0:0:9',
    '2001:db8:1:2::1%eth0',
  ],
  ['2001:db8:0:0::/64', '2001:db8::1', '2001:db8:0:0:1::', '2001:0db8:0000::9:8:7:6'],
  ['0:0:0:0::/64', '::', '::1', '::127.0.0.1'],
  ['64:ff9b:0:0::/64', '64:ff9b::192.0.2.33'],
]

for (const [network, ...addresses] of same) {
  for (const address of addresses) {
    test(`${address} counts as ${network}`, () => assert.equal(networkOf(address), network))
  }
}

test('neighbouring networks are counted separately', () => {
  assert.notEqual(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'))
})

test('an IPv4-mapped IPv6 address counts as IPv4; invalid addresses are not counted', () => {
  const socket = { remoteAddress: '192.0.2.1' }
  assert.equal(clientIp({ ip: '::ffff:203.0.113.9', socket } as never), '203.0.113.9')
  assert.equal(clientIp({ ip: '2001:db8::9', socket } as never), '2001:db8::9')
  assert.equal(clientIp({ ip: 'unknown', socket } as never), '192.0.2.1')
})
