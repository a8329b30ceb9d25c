// Ways around the rule who may sign in with a provider: each is refused with an audit row, and nothing is created.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, startTestService } from '#test/harness/index.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import { assertFails, counts, upToCallback, whoAmI } from '../login/harness.ts'
import { Upstream } from '../login/upstream.ts'

const kelvin = '\u212A'

describe('attacks on the admission', () => {
  const site = new Upstream(engines[0]!, {
    providers: {
      ACME: { ALLOWED_EMAIL_DOMAINS: 'example.com, *.corp.example, bücher.example, kite.example' },
      CLUB: { ALLOWED_GROUPS: 'members' },
      BOTH: { ALLOWED_GROUPS: 'members', ALLOWED_EMAIL_DOMAINS: 'example.com' },
    },
  })
  const refuses = async (path: string): Promise<void> => {
    const before = await counts(site.service)
    const browser = new Browser()
    const callback = await upToCallback(site.service, browser, path)
    await assertFails(site.service, browser, callback, 'account-not-admitted')
    assert.deepEqual(await counts(site.service), before)
  }

  /** The failures of an identity in the audit log. */
  const refusalsOf = async (providerId: string): Promise<string[]> => {
    const rows = await site.service.database.reader
      .selectFrom('audit_log')
      .select(['provider', 'action', 'code'])
      .where('code', 'is not', null)
      .where('provider_id', '=', providerId)
      .execute()
    return rows.map(({ provider, action, code }) => `${provider} ${action} ${code}`)
  }

  const verified = { email_verified: true }
  const refusedAddresses: [string, Record<string, unknown>][] = [
    ['not verified', { email: 'a@example.com' }],
    ['verified: false', { email: 'a@example.com', email_verified: false }],
    ['verified: 1', { email: 'a@example.com', email_verified: 1 }],
    ['verified: "yes"', { email: 'a@example.com', email_verified: 'yes' }],
    ['no address', verified],
    ['a longer name in front', { ...verified, email: 'a@evil-example.com' }],
    ['a longer name in front, without a hyphen', { ...verified, email: 'a@evilexample.com' }],
    ['a domain below', { ...verified, email: 'a@sub.example.com' }],
    ['a domain above', { ...verified, email: 'a@corp.example' }],
    ['the domain as a part of another one', { ...verified, email: 'a@example.com.evil.example' }],
    ['a trailing dot', { ...verified, email: 'a@example.com.' }],
    ['an empty label', { ...verified, email: 'a@.corp.example' }],
    ['two @', { ...verified, email: 'a@evil.example@example.com' }],
    ['a quoted @', { ...verified, email: '"a@evil.example"@example.com' }],
    ['a display name', { ...verified, email: 'Eve <a@evil.example>, b@example.com' }],
    ['no local part', { ...verified, email: '@example.com' }],
    ['white space', { ...verified, email: 'a@evil.example\n@example.com' }],
    ['a NUL that is cut out', { ...verified, email: 'a@exam\u0000ple.com' }],
    ['a cut that ends at the domain', { ...verified, email: `${'a'.repeat(308)}@example.com.evil.example` }],
    ['full-width letters', { ...verified, email: 'a@ｅxample.com' }],
    ['an ideographic full stop', { ...verified, email: 'a@example。com' }],
    ['a Cyrillic letter', { ...verified, email: 'a@ex\u0430mple.com' }],
    ['a Kelvin sign', { ...verified, email: `a@${kelvin}ite.example` }],
    ['a soft hyphen', { ...verified, email: 'a@exam\u00ADple.com' }],
    ['a list of addresses', { ...verified, email: ['a@example.com'] }],
    ['an address in another claim', { ...verified, email: 'a@evil.example', upn: 'a@example.com' }],
  ]
  for (const [what, claims] of refusedAddresses) {
    test(`allowed e-mail domains: ${what}`, async () => {
      site.become(what, claims)
      await refuses('/auth/acme')
    })
  }

  test('the verification of one address does not admit another', async () => {
    site.become('mixed', { email: 'a@evil.example', ...verified }, { email: 'a@example.com' })
    await refuses('/auth/acme')
    site.become('mixed', { email: 'a@example.com' }, verified)
    await refuses('/auth/acme')
  })

  test('addresses of the allowed domains in all their forms are admitted', async () => {
    for (const email of [
      'a@example.com',
      'A@EXAMPLE.com',
      'a@sub.corp.example',
      'a@deep.sub.corp.example',
      'a@bücher.example',
      'a@xn--bcher-kva.example',
      'a@kite.example',
    ]) {
      site.become(email, { email, ...verified })
      const me = await site.signedIn()
      assert.ok(typeof me === 'object', `${email}: ${JSON.stringify(me)}`)
    }
  })

  const noMember: [string, unknown][] = [
    ['no groups', undefined],
    ['other groups', ['Members', 'members2', ' members']],
    ['an object', { members: true }],
    ['a number', 1],
    ['nested', [['members']]],
    ['a text with several', 'members,others'],
  ]
  for (const [what, groups] of noMember) {
    test(`allowed groups: ${what}`, async () => {
      site.become(what, { groups })
      await refuses('/auth/club')
    })
  }

  test('a member beyond the stored groups is admitted', async () => {
    const many = Array.from({ length: 900 }, (_, index) => `g${index}`)
    site.become('many', { groups: [...many, 'members'] })
    assert.ok(typeof (await site.signedIn('/auth/club')) === 'object')
  })

  test('both rules are needed where both are set', async () => {
    const mail = { email: 'a@example.com', ...verified }
    site.become('both', { ...mail, groups: ['others'] })
    await refuses('/auth/both')
    site.become('both', { groups: ['members'] })
    await refuses('/auth/both')
    site.become('both', { ...mail, groups: ['members'] })
    assert.ok(typeof (await site.signedIn('/auth/both')) === 'object')
  })

  test('parameters of our own start do not reach the rule', async () => {
    site.become('asking', { email: 'a@evil.example', ...verified })
    await refuses('/auth/acme?hd=example.com&email=a@example.com&groups=members')
  })

  test('a person who is no longer admitted cannot sign in again', async () => {
    site.become('leaves', { groups: ['members'] })
    const browser = await site.browser('/auth/club')
    assert.ok(await whoAmI(site.service, browser))
    site.become('leaves', { groups: [] })
    assert.equal(await site.signedIn('/auth/club'), 'account-not-admitted')
    assert.deepEqual(await refusalsOf('leaves'), ['club sign_in.failed account-not-admitted'])
  })

  test('an identity that is not admitted cannot be linked', async () => {
    site.become('linker', { email: 'a@example.com', ...verified })
    const browser = await site.browser()
    const before = await counts(site.service)
    site.become('outsider', { groups: [] })
    await site.link(browser, 'club')
    assert.deepEqual(await counts(site.service), before)
    assert.deepEqual(await refusalsOf('outsider'), ['club identity.link_failed account-not-admitted'])
  })
})

test('texts that are not domains are refused at the start', async () => {
  const given = { clientId: 'id', clientSecret: 's', issuer: 'https://id.example' }
  for (const domain of [
    'com',
    '*',
    '*.',
    'a@example.com',
    'https://example.com',
    'exa mple.com',
    '*.*.com',
    7,
  ]) {
    const more = { allowedEmailDomains: [domain] } as object
    const config = { login: { providers: { acme: { ...given, ...more } } } }
    await assert.rejects(startTestService(engines[0]!, { config }), (error) => {
      assert.ok(isConfigurationError(error), String(domain))
      assert.match(error.message, /ACME_ALLOWED_EMAIL_DOMAINS is wrong: expected domains/)
      return true
    })
  }
})
