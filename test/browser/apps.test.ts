import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Browser } from '../harness/browser.ts'
import { spa } from '../login/harness.ts'
import { token } from '../oauth2/harness.ts'
import { assertFits } from './accessibility.ts'
import { answerDialog } from './browser.ts'
import { PeopleSite } from './people.ts'

/** What administrators do with apps. */
describe('apps on the dashboard', () => {
  const site = new PeopleSite({ config: { login: { clients: [spa] } } })
  before(() => site.signIn(site.page, 'Ada Lovelace'))
  const page = () => site.page
  const codes = () => page().getByRole('dialog').locator('dd code').allInnerTexts()

  /** Whether the secret authenticates the app, which then lacks a right. */
  async function works(id: string, secret: string): Promise<boolean> {
    const fields = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    return (await token(site.service, fields)).body['error'] === 'unauthorized_client'
  }
  let id = ''
  const secrets: string[] = []

  test('an app of the configuration is shown and cannot be changed', async () => {
    await site.open('/apps')
    await page().getByRole('link', { name: spa.id }).click()
    await page().getByText('declared in the configuration module').waitFor()
    assert.equal(await page().getByRole('button', { name: 'Save' }).count(), 0)
    assert.equal(await page().getByRole('button', { name: 'Delete' }).count(), 0)
    assert.ok(await page().getByLabel('Redirect URIs', { exact: true }).isDisabled())
  })

  test('a new app gets a secret, which is shown once', async () => {
    await site.open('/apps')
    await page().getByRole('button', { name: 'Add app' }).click()
    const form = page().getByRole('dialog')
    await form.getByLabel('Name').fill('Notes')
    await form.getByLabel('Redirect URIs').fill('not a uri')
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByLabel('Redirect URIs').fill('https://notes.example/callback')
    await assertFits(site.page)
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByText('be shown again').waitFor()
    const [clientId = '', first = ''] = await codes()
    id = clientId
    secrets.push(first)
    assert.ok(await works(id, first))
    await form.getByRole('button', { name: 'Open settings' }).click()
    await page().getByRole('heading', { name: 'Notes', level: 1 }).waitFor()
    await page().reload()
    await page().getByRole('heading', { name: 'Notes', level: 1 }).waitFor()
    assert.equal(await page().getByText(first).count(), 0)
    site.complaints.splice(0)
  })

  test('all settings can be edited; only what changed is sent', async () => {
    await page()
      .getByLabel('Redirect URIs', { exact: true })
      .fill('https://notes.example/callback\nhttps://notes.example/second')
    await page().getByLabel('Access token lifetime').fill('300')
    await page().getByLabel('Audiences', { exact: true }).fill('https://api.example.com')
    await page().getByLabel('First-party app').uncheck()
    await page().getByRole('button', { name: 'Save' }).click()
    await page().getByText('Settings saved').waitFor()
    const shown = (await (await site.service.admin(`/clients/${id}`)).json()) as Record<string, unknown>
    assert.deepEqual(shown['redirectUris'], [
      'https://notes.example/callback',
      'https://notes.example/second',
    ])
    assert.deepEqual(
      [shown['accessTokenLifetime'], shown['audiences'], shown['firstParty']],
      [300, ['https://api.example.com'], false],
    )
    const { data } = (await (await site.service.admin('/audit?action=client.changed')).json()) as {
      data: { detail: { fields: string } }[]
    }
    assert.deepEqual(
      new Set(data[0]!.detail.fields.split(' ')),
      new Set(['redirectUris', 'accessTokenLifetime', 'audiences', 'firstParty']),
    )
    await assertFits(site.page)
  })

  test('its sign-in is tried in a new tab, and the code works with the verifier that is shown', async () => {
    await page().getByRole('button', { name: 'Test sign-in' }).click()
    const dialog = page().getByRole('dialog', { name: 'Test sign-in to Notes' })
    const command = await dialog.getByLabel('Request that exchanges the code', { exact: true }).innerText()
    await assertFits(site.page)
    const callback = page()
      .context()
      .waitForEvent('request', (request) => request.url().startsWith('https://notes.example/callback?'))
    const opened = page().waitForEvent('popup')
    await dialog.getByRole('link', { name: 'Open in a new tab' }).click()
    const tab = await opened
    await tab.getByRole('button', { name: 'Allow', exact: true }).click()
    const code = new URL((await callback).url()).searchParams.get('code')
    const { status } = await token(site.service, {
      grant_type: 'authorization_code',
      client_id: id,
      client_secret: secrets[0]!,
      code: code!,
      redirect_uri: 'https://notes.example/callback',
      code_verifier: /code_verifier=(\S+)/.exec(command)![1]!,
    })
    assert.equal(status, 200)
    await tab.close()
    await dialog.getByRole('button', { name: 'Close' }).first().click()
  })

  test('a second secret lives beside the first; each can be removed', async () => {
    await page().getByRole('tab', { name: 'Secrets' }).click()
    await page().getByRole('button', { name: 'Add secret' }).click()
    await answerDialog(page(), 'Add secret')
    const dialog = page().getByRole('dialog', { name: 'New secret' })
    await dialog.getByText('be shown again').waitFor()
    secrets.push((await codes())[1]!)
    await dialog.getByRole('button', { name: 'Close' }).click()
    assert.deepEqual([await works(id, secrets[0]!), await works(id, secrets[1]!)], [true, true])
    const rows = page().getByRole('table', { name: 'Secrets' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    await assertFits(site.page)
    await rows
      .nth(1)
      .getByRole('button', { name: /^Remove/ })
      .click()
    await answerDialog(page(), 'Remove')
    await rows.nth(1).waitFor({ state: 'detached' })
    assert.deepEqual([await works(id, secrets[0]!), await works(id, secrets[1]!)], [false, true])
  })

  test('a sign-in in the app is listed and ended', async () => {
    await page().getByRole('tab', { name: 'Sign-ins' }).click()
    const table = page().getByRole('table', { name: 'Sign-ins' })
    await table.getByRole('link', { name: 'Ada Lovelace' }).waitFor()
    await assertFits(site.page)
    await table.getByRole('button', { name: 'Sign out Ada Lovelace' }).click()
    await answerDialog(page(), 'Sign out')
    await page().getByText('No sign-ins').waitFor()
  })

  test('deleting an app ends it, after a question that says so', async () => {
    await page().getByRole('button', { name: 'Delete' }).click()
    await page().getByRole('alertdialog').getByText('cannot be undone').waitFor()
    await answerDialog(page(), 'Delete')
    await page().waitForURL('**/dashboard/apps*')
    await page().getByRole('link', { name: spa.id }).waitFor()
    assert.equal(await page().getByRole('link', { name: 'Notes' }).count(), 0)
    assert.equal(await works(id, secrets[1]!), false)
    await assertFits(site.page)
    const stranger = await new Browser().go(new URL('/clients', site.service.baseUrl))
    assert.equal(stranger.status, 401)
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(site.complaints, [])
  })
})
