// The choice of `login.sameAddress: 'offer'` in a browser without scripts: its forms lead to other sites and back.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { engines, listening, started, startOAuthProvider, startTestService } from '../harness/index.ts'
import { appStart, newPkce } from '../login/harness.ts'
import { launchBrowser, picture } from './browser.ts'

describe('the choice between linking and a new user', () => {
  const browser = started(launchBrowser)
  let callback: string
  const app = started(() => listening(createServer((_request, response) => void response.end('inside'))))
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    callback = `${app.url}/callback`
    return startTestService(engines[0]!, {
      env: { ...provider.env('GOOGLY'), ...provider.env('HUB'), GOOGLY_NAME: 'Googly', HUB_NAME: 'Hub' },
      config: { login: { sameAddress: 'offer', clients: [{ id: 'spa', redirectUris: [callback] }] } },
    })
  })
  const become = (id: string): void => {
    provider.profile = { id, displayName: id, emails: [{ value: 'ada@example.com', verified: true }] }
  }

  test('works without JavaScript, for the dashboard and for an app at another host', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    become('ada')
    await page.goto(`${service.baseUrl}/auth/googly?return_to=/docs`)
    await context.clearCookies()

    become('ada-hub')
    await page.goto(`${service.baseUrl}/auth/hub?return_to=/docs`)
    assert.equal(await page.getByRole('heading').textContent(), 'You signed in with Googly before')
    await picture(page, 'same-address')
    become('ada')
    await page.getByRole('button', { name: 'Sign in with Googly and link' }).click()
    await page.waitForURL(`${service.baseUrl}/docs`)

    await context.clearCookies()
    become('ada-hub-2')
    const start = appStart(newPkce(), { redirect_uri: callback }).replace('/auth/acme', '/auth/hub')
    await page.goto(new URL(start, service.baseUrl).href)
    await page.getByRole('button', { name: 'Continue as a new user' }).click()
    await page.waitForURL((url) => url.href.startsWith(callback))
    assert.ok(new URL(page.url()).searchParams.get('code'))
    await context.close()
  })
})
