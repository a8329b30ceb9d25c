import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pictures } from './browser.ts'
import { assertFits } from './accessibility.ts'
import { PeopleSite } from './people.ts'

describe('an administrator acts for a user', () => {
  const site = new PeopleSite({ env: { IMPERSONATION: 'on' } })

  test('from the page of the user to the pages that the user sees, and back by the banner', async () => {
    const grace = await site.elsewhere('Grace Hopper')
    const { page } = site
    await site.signIn(page, 'Ada Lovelace')
    await site.open('/users')
    await page.getByRole('link', { name: /Grace Hopper/ }).click()
    await page.getByRole('button', { name: 'Act for user' }).click()
    const dialog = page.getByRole('dialog', { name: 'Act for Grace Hopper?' })
    await dialog.getByLabel('Reason').fill('Ticket 4711')
    await pictures(page, 'impersonation-dialog')
    await dialog.getByRole('button', { name: 'Act for user' }).click()
    const banner = page.getByRole('form', { name: 'Acting for a user' })
    await banner.getByText('You are acting for Grace Hopper').waitFor()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await assertFits(site.page)
    await pictures(page, 'impersonation-account-view')
    for (const path of ['/login', '/docs/guide/', '/device']) {
      await page.goto(site.service.baseUrl + path)
      await banner.waitFor()
      await pictures(page, `impersonation${path.replaceAll('/', '-')}`)
    }
    await grace.goto(`${site.service.baseUrl}/dashboard/account`)
    await grace.getByText('Ada Lovelace is acting for this account: Ticket 4711').waitFor()
    await pictures(grace, 'impersonation-devices')
    await banner.getByRole('button', { name: 'Stop' }).click()
    await page.waitForURL(/\/dashboard\/users\//)
    await page.locator('h1').getByText('Grace Hopper').waitFor()
    assert.equal(await banner.count(), 0)
    assert.deepEqual(site.complaints, [])
  })
})
