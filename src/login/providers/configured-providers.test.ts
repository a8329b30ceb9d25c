import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readEnvironment } from '../../config/environment.ts'
import { type LoginConfig, mergeProviders } from '../config.ts'
import { letterIcon, readIcon } from './preset.ts'
import { resolveProvider } from './resolve-provider.ts'

function merge(env: Record<string, string>, module: NonNullable<LoginConfig['providers']>) {
  const faults: string[] = []
  const providers = mergeProviders(readEnvironment(env).providers, module, faults)
  return { providers, faults }
}

test('several instances of one preset, from the module and from the environment', () => {
  const { providers, faults } = merge(
    {
      GITHUB_CLIENT_ID: 'a',
      GITHUB_CLIENT_SECRET: 'as',
      GITHUB_EU_CLIENT_ID: 'b',
      GITHUB_EU_CLIENT_SECRET: 'bs',
      GITHUB_EU_PRESET: 'github',
      GITHUB_EU_NAME: 'GitHub Europe',
    },
    { 'github-work': { preset: 'github', clientId: 'c', clientSecret: 'cs', name: 'GitHub (work)' } },
  )
  assert.deepEqual(faults, [])
  const resolved = providers.map((settings) => resolveProvider(settings))
  const shown = resolved.map((provider) => ('kind' in provider ? [provider.name, provider.label] : provider))
  assert.deepEqual(shown, [
    ['github-work', 'GitHub (work)'],
    ['github', 'GitHub'],
    ['github_eu', 'GitHub Europe'],
  ])
  assert.ok(
    resolved.every((provider) => 'kind' in provider && provider.tokenUrl?.startsWith('https://github.com/')),
  )
})

test('for one name, each setting of the environment takes precedence over the module', () => {
  const { providers, faults } = merge(
    { GITHUB_WORK_CLIENT_SECRET: 'from the environment', GITHUB_WORK_BASE_URL: 'https://git.example' },
    {
      'github-work': {
        preset: 'github',
        clientId: 'from the module',
        clientSecret: 'also',
        settings: { BASE_URL: 'https://other.example', UNUSED: undefined },
      },
    },
  )
  assert.deepEqual(faults, [])
  assert.deepEqual(providers, [
    {
      name: 'github-work',
      preset: 'github',
      clientId: 'from the module',
      clientSecret: 'from the environment',
      own: { BASE_URL: 'https://git.example' },
    },
  ])
})

test('a secret without an id, and an id without a provider, are faults', () => {
  const { providers } = merge({ ACME_CLIENT_SECRET: 'x' }, {})
  const acme = resolveProvider(providers[0]!)
  assert.ok('faults' in acme)
  assert.match(acme.faults.join('\n'), /^ACME_CLIENT_ID is missing/)
  const unknown = resolveProvider({ name: 'a', preset: 'gothib', clientId: 'x' })
  assert.ok('faults' in unknown)
  assert.match(unknown.faults.join(), /^A_PRESET: there is no preset "gothib"; use one of .*github/)
})

test('native apps need a provider that sends id_tokens with a nonce', () => {
  const id = { clientId: 'x', clientSecret: 'x' }
  const google = resolveProvider({ name: 'google', ...id, audiences: ['ios', 'web'] })
  assert.deepEqual('kind' in google && google.audiences, ['ios', 'web'])
  const environment = readEnvironment({ GOOGLE_CLIENT_ID: 'x', GOOGLE_AUDIENCES: 'ios, web' }).providers
  assert.deepEqual(environment[0]!.audiences, ['ios', 'web'])
  const wrong: [string, unknown, RegExp][] = [
    ['github', ['x'], /^GITHUB_AUDIENCES cannot be used: github sends no id_token with a nonce/],
    ['linkedin', ['x'], /^LINKEDIN_AUDIENCES cannot be used/],
    ['google', 'ios', /^GOOGLE_AUDIENCES is wrong: expected client IDs/],
    ['google', [''], /^GOOGLE_AUDIENCES is wrong/],
    ['google', ['x'.repeat(256)], /^GOOGLE_AUDIENCES is wrong/],
  ]
  for (const [name, audiences, fault] of wrong) {
    const provider = resolveProvider({ name, ...id, audiences: audiences as string[] })
    assert.match('faults' in provider ? provider.faults.join() : '', fault)
  }
})

test('errors in the module are reported', () => {
  const wrong: [string, object, RegExp][] = [
    ['Git Hub', {}, /cannot be the name/],
    ['a/../b', {}, /cannot be the name/],
    ['acme', { clientID: 'x' }, /unknown field clientID; use .*clientId/],
    ['acme', { issuer: 'id.example' }, /acme\.issuer is wrong: expected an https address/],
  ]
  for (const [name, config, fault] of wrong) assert.match(merge({}, { [name]: config }).faults.join(), fault)
  const twice = merge({}, { 'a-b': { clientId: 'x' }, a_b: { clientId: 'y' } })
  assert.match(twice.faults.join(), /a_b is configured twice/)
})

test('an entry with only keepTokens declares no provider', () => {
  assert.deepEqual(merge({}, { demo: { keepTokens: true } }), { providers: [], faults: [] })
})

test('an icon is a file or a data: URI of limited size, and becomes a data: URI', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-icon-'))
  try {
    const file = join(folder, 'work.svg')
    writeFileSync(file, '<svg/>')
    assert.equal(readIcon(file), `data:image/svg+xml;base64,${Buffer.from('<svg/>').toString('base64')}`)
    const large = join(folder, 'large.png')
    writeFileSync(large, Buffer.alloc(70_000))
    assert.throws(() => readIcon(large), /at most/)
    assert.throws(() => readIcon(join(folder, 'none.png')), /cannot be read/)
  } finally {
    rmSync(folder, { recursive: true })
  }
  assert.equal(readIcon('data:image/png;base64,AAAA'), 'data:image/png;base64,AAAA')
  for (const icon of ['https://cdn.example/a.svg', 'data:text/html,x', 'javascript:alert(1)', 'logo.exe'])
    assert.throws(() => readIcon(icon), icon)
})

test('without an icon, the first letter of the label is shown', () => {
  assert.match(decodeURIComponent(letterIcon('github (work)', '#24292f')), />G<\/text>/)
  assert.doesNotMatch(decodeURIComponent(letterIcon('<script>&"', '#000000')), /script/i)
  assert.match(decodeURIComponent(letterIcon('…', '#000000')), /><\/text>/)
})
