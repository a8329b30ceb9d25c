import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { engines } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { spa } from '../login/harness.ts'
import { token } from '../oauth2/harness.ts'
import { answerDialog, launchBrowser, picture, signIn } from './browser.ts'

/** What admins do with apps on the dashboard. */
describe('apps on the dashboard', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  const complaints: string[] = []

  before(async () => {
    service = await startTestService(engines[0]!, { config: { login: { clients: [spa] } } })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await signIn(page, service, 'Ada Lovelace')
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const rows = () => page.locator('#apps tr')
  const said = () => page.locator('#apps-said code')
  /** Whether the secret authenticates the app, which then lacks a right. */
  async function works(id: string, secret: string): Promise<boolean> {
    const fields = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    return (await token(service, fields)).body['error'] === 'unauthorized_client'
  }

  test('a new app: its secret is shown once, can be replaced, and ends with the app', async () => {
    await rows().getByText('in the configuration').waitFor()
    assert.equal(await rows().getByRole('button').count(), 0)
    await page.getByText('Add an app').click()
    const form = page.locator('#new-app')
    await form.getByLabel('Name').fill('Notes')
    await form.getByLabel('Redirect URIs').fill('https://notes.example/callback')
    await picture(page, 'dashboard-new-app')
    await form.getByRole('button', { name: 'Add' }).click()
    await said().nth(1).waitFor()
    const [id, first] = await said().allTextContents()
    assert.ok(id && first)
    assert.ok(await works(id, first))
    await picture(page, 'dashboard-apps')

    await rows().getByRole('button', { name: 'New secret' }).click()
    await answerDialog(page, 'New secret')
    await page.locator('#apps-said').getByText(first).waitFor({ state: 'detached' })
    const [, second] = await said().allTextContents()
    assert.deepEqual([await works(id, first), await works(id, second!)], [true, true])
    await page.reload()
    await rows().getByText('Notes', { exact: true }).waitFor()
    assert.equal(await said().count(), 0)

    await rows().getByRole('button', { name: 'Delete' }).click()
    await answerDialog(page, 'Delete')
    await rows().getByText('Notes', { exact: true }).waitFor({ state: 'detached' })
    assert.equal(await works(id, second!), false)
    assert.deepEqual(complaints, [])
  })
})
