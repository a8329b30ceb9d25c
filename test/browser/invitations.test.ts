// An admin invites a person on the dashboard, and the person comes in with the link.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertAccessible } from './accessibility.ts'
import { answerDialog, picture } from './browser.ts'
import { PeopleSite } from './people.ts'

describe('invitations', () => {
  const site = new PeopleSite({ login: { admission: 'invited' } })

  test('an admin creates, sees and revokes invitations; only the invited person uses one', async () => {
    const { page, service } = site
    await service.admin('/invitations', { method: 'POST', json: { email: 'linus@demo.example' } })
    const first = (await (
      await service.admin('/invitations', { method: 'POST', json: { role: 'admin' } })
    ).json()) as { url: string }
    await page.goto(first.url)
    await picture(page, 'invitation-by-link')
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL(/\/dashboard$/)

    await site.open('/invitations')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByLabel('Email address').fill('Grace@demo.example')
    await page.getByLabel('Groups').fill('staff, support, staff')
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Create link' }).click()
    const link = (await page.getByLabel('The link', { exact: true }).textContent())!
    await picture(page, 'invitation-created')
    await page.getByRole('button', { name: 'Done' }).click()
    const row = page.getByRole('row', { name: /grace@demo\.example/ })
    await row.getByText('support').waitFor()
    assert.ok(!(await page.content()).includes(link))

    const other = await (await site.browser.newContext()).newPage()
    await other.goto(link)
    await other.getByText('Ada Lovelace invited you to').waitFor()
    await assertAccessible(other)
    await other.getByRole('link', { name: /development provider/ }).click()
    await other.getByText('Alan Turing').first().click()
    await other.getByText('This invitation is for another email address').waitFor()
    await picture(other, 'invitation-mismatch')
    await other.getByRole('link', { name: /development provider/ }).click()
    await other.getByText('Grace Hopper').first().click()
    await other.waitForURL(/\/dashboard\/account$/)

    await page.reload()
    await row.getByRole('link', { name: 'Grace Hopper' }).waitFor()
    await page.getByRole('button', { name: 'Revoke linus@demo.example' }).click()
    await answerDialog(page, 'Revoke')
    await page
      .getByRole('row', { name: /linus@demo\.example/ })
      .getByText('Revoked')
      .waitFor()
    await assertAccessible(page)
    await page.setViewportSize({ width: 390, height: 900 })
    await assertAccessible(page)
    assert.deepEqual(site.complaints, [])
  })
})
