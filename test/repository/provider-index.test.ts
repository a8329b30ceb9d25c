// The columns of docs/guides/providers.md about verified addresses and groups are what the presets do.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { toIdentity } from '../../src/login/provider-client/profile.ts'
import type { Preset } from '../../src/login/providers/preset.ts'
import { presets } from '../../src/login/providers/presets.ts'

const index = readFileSync(join(import.meta.dirname, '../../docs/guides/providers.md'), 'utf8')
const email = 'ada@example.com'

/** A profile of every form, which says wherever it can that the address is verified. */
const person = { id: '1', name: 'Ada', person: { email }, avatar_url: 'https://p.example/a.png' }
const everything = {
  id: '1',
  sub: '1',
  uuid: '1',
  user_id: '1',
  account_id: '1',
  tid: 't',
  oid: 'o',
  'https://slack.com/team_id': 'T1',
  email,
  email_verified: true,
  verified: true,
  confirmed_at: '2026-01-01',
  xms_edov: true,
  data: { id: '1', confirmed_email: email },
  bot: { owner: { user: person } },
}

/** Whether the preset takes an address as verified when the provider says so; `undefined` if it reads no address. */
async function verifiedBy(name: string, { readProfile }: Preset): Promise<boolean | undefined> {
  // Presets without one read the standard claims.
  if (!readProfile) return true
  const addresses = [{ email, primary: true, verified: true, is_primary: true, is_confirmed: true }]
  const profile = await readProfile({
    claims: everything,
    document: everything,
    profileUrl: 'https://p.example/user',
    readMore: () => Promise.resolve(name === 'bitbucket' ? { values: addresses } : addresses),
    presetSetting: () => '',
    givenName: undefined,
  })
  const identity = toIdentity(name, profile)
  return identity.email === null ? undefined : identity.emailVerified
}

for (const [name, preset] of Object.entries(presets)) {
  const row = index.split('\n').find((line) => line.startsWith(`| [${preset.label}](`)) ?? ''
  const [, , , , verified = '', groups = ''] = row.split('|').map((cell) => cell.trim())

  test(`${name}: the index says whether an address can be verified: ${verified}`, async () => {
    const said = verified === 'never' ? false : verified === 'no address' ? undefined : true
    assert.equal(await verifiedBy(name, preset), said)
  })

  test(`${name}: the index says where groups come from: ${groups}`, () => {
    // Plain OAuth 2.0 has groups only where the preset reads them from an API.
    const openid = preset.endpoints((key) => key).issuer !== undefined
    const named = groups !== '' && !/^no\b/.test(groups)
    if (!openid) assert.equal(named, preset.groups !== undefined)
    else assert.notEqual(groups, '')
  })
}
