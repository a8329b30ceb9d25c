import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { engines, started, startReceiver, startTestService } from '../harness/index.ts'
import { newPkce } from '../login/harness.ts'
import { authorizeUrl } from '../oauth2/harness.ts'
import { assertFits } from './accessibility.ts'
import { answerDialog, launchBrowser, openPage, pictures, signIn } from './browser.ts'

/** What people see of the product's applications: the consent, the sign-out, the list of apps. */
describe('apps in a browser', () => {
  const complaints: string[] = []

  const app = started(() =>
    startReceiver((response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><h1>The app</h1>'),
    ),
  )
  const service = started(async () => {
    const redirectUris = [app.url]
    return startTestService(engines[0]!, {
      config: {
        login: {
          clients: [
            { id: 'forum', name: 'The forum of gardeners', firstParty: false, redirectUris },
            { id: 'shop', name: 'Shop', redirectUris, postLogoutRedirectUris: [app.url] },
          ],
        },
      },
    })
  })
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(async () => {
    await signIn(page, service, 'Ada Lovelace')
  })

  const start = (clientId: string, scope: string): string =>
    authorizeUrl(service, { client_id: clientId, redirect_uri: app.url, scope }, newPkce()).href

  test('a person allows an app of others, and the browser goes on to it', async () => {
    await page.goto(start('forum', 'openid profile email offline_access'))
    await page.getByRole('heading', { name: 'Allow access for The forum of gardeners?' }).waitFor()
    await pictures(page, 'consent')
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByText('The app').waitFor()
    assert.ok(new URL(page.url()).searchParams.get('code'))
  })

  test('the dashboard lists the apps, and one is removed', async () => {
    await page.goto(`${service.baseUrl}/dashboard/account?tab=apps`)
    const apps = page.getByRole('main')
    await apps.getByText('The forum of gardeners').waitFor()
    await assertFits(page)
    const forum = apps.getByRole('row').filter({ hasText: 'The forum of gardeners' })
    await forum.getByRole('button', { name: /^Remove/ }).click()
    await answerDialog(page, 'Remove')
    await forum.waitFor({ state: 'detached' })
  })

  test('a sign-out of an app asks first, and then goes on to the app', async () => {
    const query = new URLSearchParams({ client_id: 'shop', post_logout_redirect_uri: app.url, state: 'x' })
    await page.goto(`${service.baseUrl}/oauth2/end-session?${query.toString()}`)
    await page.getByRole('heading', { name: 'Sign out?' }).waitFor()
    await pictures(page, 'sign-out')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${app.url}?state=x`)
    await page.goto(`${service.baseUrl}/oauth2/end-session`)
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    await pictures(page, 'signed-out')
    await page.goto(`${service.baseUrl}/oauth2/end-session?post_logout_redirect_uri=https://evil.example`)
    await page.getByRole('heading', { name: 'You are still signed in' }).waitFor()
    await pictures(page, 'sign-out-refused')
    assert.match(complaints.splice(0).join(), /400/)
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(complaints, [])
  })
})
