import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeAddress, describeHost, parseAddress } from './address.ts'

const hostsOf = (url: string): string[] =>
  parseAddress(url).hosts.map((host) =>
    host.address === undefined || host.address === host.name
      ? describeHost(host)
      : `${describeHost(host)} at ${host.address}`,
  )

test('hosts are parsed as libpq does', () => {
  for (const [url, hosts] of [
    ['postgres://h1:5432,h2:5433/db', ['h1:5432', 'h2:5433']],
    ['postgresql://u:p@h1,h2,h3:6000/db', ['h1:5432', 'h2:5432', 'h3:6000']],
    ['postgres:///db?host=a,b&port=5432,5433', ['a:5432', 'b:5433']],
    ['postgres://u@/db?host=a,b&port=6000', ['a:6000', 'b:6000']],
    ['postgres://u@gone:1/db?host=a&port=6000', ['a:6000']],
    ['postgres://[::1]:5433,[fe80::1]/db', ['[::1]:5433', '[fe80::1]:5432']],
    ['postgres://u@/db?host=/var/run/postgresql', ['/var/run/postgresql/.s.PGSQL.5432']],
    ['postgres://u@%2Fvar%2Frun:5433/db', ['/var/run/.s.PGSQL.5433']],
    ['postgres://u@db.example/x?hostaddr=10.0.0.1', ['db.example:5432 at 10.0.0.1']],
    ['postgres://u@/x?hostaddr=10.0.0.1,::1', ['10.0.0.1:5432', '[::1]:5432']],
    ['postgres://', ['localhost:5432']],
    ['postgres:///db', ['localhost:5432']],
    ['postgres://user:with@sign@h/db', ['h:5432']],
  ] as const)
    assert.deepEqual(hostsOf(url), hosts, url)
})

test('each host has a URL for the driver', () => {
  const address = parseAddress(
    'postgres://us%40er:p%2Fw@a:1,[::1]/some%20db?sslmode=require&target_session_attrs=standby&keepalives=1&ssl=false&connect_timeout=2',
  )
  assert.deepEqual(
    address.hosts.map((host) => address.urlOf(host)),
    [
      'postgres://us%40er:p%2Fw@a:1/some%20db?sslmode=require&ssl=0',
      'postgres://us%40er:p%2Fw@[::1]/some%20db?sslmode=require&ssl=0',
    ],
  )
  assert.equal(address.attributes, 'standby')
  assert.equal(address.connectWithin, 2_000)
  assert.equal(parseAddress('postgres://a/db?connect_timeout=3600').connectWithin, 30_000)
  assert.equal(parseAddress('postgres://a/db?connect_timeout=0').connectWithin, undefined)
  assert.equal(
    parseAddress('postgres://a/?dbname=other').urlOf({ name: 'a', port: 1 }),
    'postgres://a:1/other',
  )
})

test('programs get the address without the password, and a server that takes writes', () => {
  for (const [url, shown, password] of [
    ['postgres://u:hu%2Fsh@h/db', 'postgres://u@h/db', 'hu/sh'],
    ['postgres://u@h/db?password=hush&sslmode=require', 'postgres://u@h/db?sslmode=require', 'hush'],
    ['postgres://u:no@h/db?p%61ssword=hush', 'postgres://u@h/db', 'hush'],
    ['postgres://u:hu@sh:@h/db', 'postgres://u@h/db', 'hu@sh:'],
    ['postgres://u%40er:hush@h/some%20db', 'postgres://u%40er@h/some%20db', 'hush'],
    ['postgres://h/db?options=-c%20x%3Dy', 'postgres://h/db?options=-c%20x%3Dy', undefined],
    ['postgresql://u:@a,b:1/db', 'postgres://u@a,b:1/db?target_session_attrs=read-write', undefined],
    ['postgres:///db?host=a,b', 'postgres:///db?host=a,b&target_session_attrs=read-write', undefined],
    ['postgres://a,b/db?target_session_attrs=standby', undefined, undefined],
  ] as const)
    assert.deepEqual(parseAddress(url).forPrograms, { url: shown ?? url, password }, url)
})

test('an invalid address is refused without showing any of it', () => {
  const reserved = /percent-encode reserved characters in the user name and password/
  for (const [url, problem] of [
    ['postgres://u:hush@h1,h2/db?target_session_attrs=writable', /target_session_attrs must be one of any,/],
    ['postgres://u:hush@h1/db?target_session_attr=any', /the parameter target_session_attr is unknown/],
    ['postgres://u:hush@h/db?passfile=x', /the parameter passfile is not supported/],
    ['postgres://u:hush@h/db?connect_timeout=soon', /connect_timeout must be a whole number/],
    ['postgres://u:hush@h/db?sslmode=maybe', /sslmode must be one of disable,/],
    ['postgres://u:hush@h1:1,h2:2/db?host=a,b,c', /2 ports do not match 3 hosts/],
    ['postgres://u:hush@h1,h2/db?port=1,2,3', /3 ports do not match 2 hosts/],
    ['postgres://u:hush@h1,/db', /a host is empty/],
    ['postgres://u:hush@h:70000/db', /a port must be a number from 1 to 65535/],
    ['postgres://u:hush@/db?host=a,b&hostaddr=10.0.0.1', /1 addresses in hostaddr do not match 2 hosts/],
    ['postgres://u:hush@a/db?hostaddr=b', /hostaddr must contain IP addresses/],
    ['postgres://u:hu/sh@h/db', /a port must be a number|reserved/],
    ['postgres://u:7/hush@h/db', reserved],
    ['postgres://u:hush#1@h/db', reserved],
    ['postgres://u:7?hush=1@h/db', /reserved characters such as \? and @/],
    ['postgres://u:%hush@h/db', /the user name or password is not percent-encoded correctly/],
    ['postgres://u:hush@[::1/db', /a host is invalid/],
    [`postgres://u:hush@${'h,'.repeat(40)}h/db`, /more than 32 hosts/],
  ] as const)
    assert.throws(
      () => parseAddress(url),
      (error: Error) => {
        assert.match(error.message, problem, url)
        assert.doesNotMatch(error.message, /hush/, url)
        assert.equal(error.constructor, Error)
        return true
      },
      url,
    )
})

test('an address is described without user name, password and most parameters', () => {
  for (const [url, shown] of [
    ['postgres://u:hush@h1:5432,h2:5433/db', 'postgres://[redacted]@h1,h2:5433/db'],
    [
      'postgres://u@/db?host=a,b&password=hush&target_session_attrs=primary&application_name=x',
      'postgres://[redacted]@a,b/db?target_session_attrs=primary',
    ],
    ['postgres://h/db', 'postgres://h/db'],
    ['postgres://u:hush/x@h/db', 'postgres://[redacted]'],
  ] as const)
    assert.equal(describeAddress(url), shown)
})
