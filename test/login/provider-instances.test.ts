import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Browser, engines, started, startTestService } from '#test/harness/index.ts'
import { client, startShapedProvider } from '#test/harness/shaped-provider.ts'
import { whoAmI } from './harness.ts'
import { providerCases } from './provider-shapes.ts'
import { signInShaped } from './shaped-sign-in.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'

describe('several instances of one preset', () => {
  const { shape, env } = providerCases['github']!
  const provider = started(() => startShapedProvider(shape))
  const service = started(async () => {
    const { url } = provider
    return startTestService(engines[0]!, {
      env: {
        ...env(url, 'GITHUB'),
        GITHUB_CLIENT_ID: client.id,
        GITHUB_CLIENT_SECRET: client.secret,
        ...env(url, 'GITHUB_WORK'),
        GITHUB_WORK_CLIENT_SECRET: client.secret,
        MORE_PRESET: 'github',
        ...env(url, 'MORE'),
        MORE_CLIENT_ID: client.id,
        MORE_CLIENT_SECRET: client.secret,
        MORE_NAME: '<b>More</b> & "more"',
      },
      config: {
        login: {
          providers: {
            'github-work': {
              preset: 'github',
              clientId: client.id,
              name: 'GitHub (work)',
              icon: 'data:image/png;base64,iVBORw0KGgo=',
            },
          },
        },
      },
    })
  })
  beforeEach(() => {
    provider.requests.length = 0
  })

  test('each has its own callback URL, and the same account is another user at each', async () => {
    const users = new Set<string>()
    for (const name of ['github', 'github-work', 'more']) {
      const browser = new Browser()
      assert.equal(await signInShaped(service, browser, name), '/dashboard')
      users.add((await whoAmI(service, browser))!.id)
      const asked = provider.to(shape.authorize).at(-1)!.url.searchParams
      assert.equal(asked.get('redirect_uri'), `${service.baseUrl}/auth/${name}/callback`)
    }
    assert.equal(users.size, 3)
  })

  test('/login shows escaped label and icon of each', async () => {
    const html = await (await service.fetch('/login')).text()
    for (const name of ['github', 'github-work', 'more'])
      assert.ok(html.includes(`href="/auth/${name}"`), name)
    assert.match(html, /src="data:image\/png;base64,iVBORw0KGgo=" alt=""> Continue with GitHub \(work\)</)
    assert.match(html, /src="data:image\/svg\+xml,[^"<>]+" alt=""> Continue with GitHub</)
    assert.ok(html.includes('Continue with &lt;b&gt;More&lt;/b&gt; &amp; &quot;more&quot;'))
  })

  test('all errors of the providers are reported at once, without secrets', async () => {
    const wrong = startTestService(engines[0]!, {
      env: { OKTA_CLIENT_ID: 'x', OKTA_CLIENT_SECRET: 'hush-hush', LINKEDIN_CLIENT_ID: 'x' },
      config: { login: { providers: { apple: { clientId: 'x' }, 'Git Hub': { clientId: 'x' } } } },
    })
    await assert.rejects(wrong, (error: unknown) => {
      assert.ok(isConfigurationError(error))
      const text = error.faults.join('\n')
      for (const part of [
        'OKTA_DOMAIN',
        'LINKEDIN_CLIENT_SECRET',
        'APPLE_PRIVATE_KEY',
        '"Git Hub" cannot be',
      ])
        assert.ok(text.includes(part), part)
      assert.ok(!text.includes('hush-hush'))
      return true
    })
  })
})
