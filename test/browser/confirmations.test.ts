import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Locator } from 'playwright-core'
import { PeopleSite } from './people.ts'

/** What is hard to undo happens after a dialog that names it, and not before: by keyboard alone. */
describe('confirmations', () => {
  const site = new PeopleSite()
  before(async () => {
    await site.elsewhere('Grace Hopper')
    await site.elsewhere('Ada Lovelace')
    await site.signIn(site.page, 'Ada Lovelace')
  })
  const page = () => site.page
  const dialog = () => page().getByRole('alertdialog')
  const hasFocus = (element: Locator) => element.and(page().locator(':focus')).waitFor()

  async function press(opener: Locator): Promise<void> {
    await opener.focus()
    await page().keyboard.press('Enter')
  }

  /** Opens the dialog by keyboard and leaves it by Cancel and by Escape: nothing may be called. */
  async function isAsked(opener: Locator, question: string | RegExp): Promise<void> {
    site.changes.splice(0)
    for (const leave of ['Enter', 'Escape']) {
      await press(opener)
      await dialog().getByRole('heading', { name: question }).waitFor()
      // A hasty Enter changes nothing.
      await hasFocus(dialog().getByRole('button', { name: 'Cancel' }))
      await page().keyboard.press(leave)
      await dialog().waitFor({ state: 'detached' })
      await hasFocus(opener)
    }
    assert.deepEqual(site.changes, [])
  }

  async function confirm(opener: Locator): Promise<void> {
    await press(opener)
    await hasFocus(dialog().getByRole('button', { name: 'Cancel' }))
    await page().keyboard.press('Tab')
    await page().keyboard.press('Enter')
    await dialog().waitFor({ state: 'detached' })
  }

  test('the dialog is named and described, keeps the focus, and fits on a telephone', async () => {
    await site.open('/users?q=grace')
    await page()
      .getByRole('link', { name: /Grace Hopper/ })
      .click()
    await page().getByRole('button', { name: 'Grant admin role' }).click()
    const shown = page().getByRole('alertdialog', { name: 'Grant Grace Hopper the admin role?' })
    await shown.waitFor()
    await hasFocus(shown.getByRole('button', { name: 'Cancel' }))
    const description = await shown.getAttribute('aria-describedby')
    assert.match(await page().locator(`[id="${description}"]`).innerText(), /session.* ends?/)
    for (const key of ['Tab', 'Tab', 'Tab', 'Shift+Tab', 'Shift+Tab', 'Shift+Tab']) {
      await page().keyboard.press(key)
      await hasFocus(shown.getByRole('button'))
    }
    await page().setViewportSize({ width: 390, height: 800 })
    const box = await shown.boundingBox()
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390)
    await page().setViewportSize({ width: 1440, height: 900 })
    await page().keyboard.press('Escape')
  })

  test('a change of role, a block, the end of all sessions', async () => {
    const named = (name: string) => page().getByRole('button', { name, exact: true })
    await isAsked(named('End all sessions'), 'End all sessions of Grace Hopper?')
    await isAsked(named('Block'), 'Block Grace Hopper?')
    await isAsked(named('Grant admin role'), 'Grant Grace Hopper the admin role?')
    await confirm(named('Grant admin role'))
    await named('Remove admin role').waitFor()
    assert.match(site.changes.join(), /^PATCH \/users\/[^/,]+$/)
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(site.complaints, [])
  })
})
