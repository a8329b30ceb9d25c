import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { assertFits } from './accessibility.ts'
import { answerDialog } from './browser.ts'
import { PeopleSite } from './people.ts'

/** What people do with their own account. */
describe('the account on the dashboard', () => {
  const site = new PeopleSite()
  before(async () => {
    await site.elsewhere('Grace Hopper')
    await site.signIn(site.page, 'Ada Lovelace')
  })
  const table = (name: string) => site.page.getByRole('table', { name })
  const rows = (name: string) => table(name).locator('tbody tr')
  const link = () => site.page.getByRole('button', { name: /^Link / }).first()
  /** The provider reports the sign-in by the machine's clock, so that it counts as recent by that clock alone. */
  async function signInAgain(): Promise<void> {
    site.shift = 0
    await site.page.context().clearCookies()
    await site.signIn(site.page, 'Ada Lovelace')
    await site.open('/account?tab=identities')
  }

  test('a click links a further identity of the same provider, and both can be told apart', async () => {
    await site.open('/account?tab=identities')
    await link().click()
    await site.page.getByText('Katherine Johnson').first().click()
    await site.page.waitForURL('**/dashboard/account?tab=identities')
    await rows('Identities').nth(1).waitFor()
    const texts = await rows('Identities').allInnerTexts()
    assert.match(texts[0]!, /Ada Lovelace/)
    assert.match(texts[1]!, /Katherine Johnson/)
    await assertFits(site.page)
  })

  test('an identity that belongs to another account: the page says what to do', async () => {
    await link().click()
    await site.page.getByText('Grace Hopper').first().click()
    await site.page.getByText('belongs to another account').waitFor()
    await site.open('/account?tab=activity')
    await table('Activity').getByText('identity-taken').first().waitFor()
    await assertFits(site.page)
  })

  test('long after the sign-in, linking asks to sign in again first', async () => {
    await site.open('/account?tab=identities')
    site.shift = 3_600_000
    await link().click()
    await site.page.getByText('Sign in again. Identities').waitFor()
    await signInAgain()
  })

  test('and so does unlinking, which works after it', async () => {
    const unlink = () => site.page.getByRole('button', { name: /^Unlink Katherine Johnson/ })
    await unlink().waitFor()
    site.shift = 3_600_000
    await unlink().click()
    await answerDialog(site.page, 'Unlink')
    await site.page.getByText('Sign in again. Identities').waitFor()
    // A browser reports every 403 of a call: this one is expected, and there is no other.
    const [refused, ...others] = site.complaints.splice(0)
    assert.match(refused ?? '', /status of 403/)
    assert.deepEqual(others, [])
    await signInAgain()
    await unlink().click()
    await answerDialog(site.page, 'Unlink')
    await unlink().waitFor({ state: 'detached' })
    assert.equal(await rows('Identities').count(), 1)
    assert.equal(await site.page.getByRole('button', { name: /^Unlink/ }).count(), 0, 'the last one stays')
  })

  test('devices are listed in words; one ends, then all others', async () => {
    const [first, second] = [await site.elsewhere('Ada Lovelace'), await site.elsewhere('Ada Lovelace')]
    await site.open('/account')
    await table('Devices').getByText('this device').waitFor()
    await rows('Devices').nth(2).waitFor()
    assert.match(await table('Devices').innerText(), /Chrome on \w+/)
    await assertFits(site.page)
    const before = await rows('Devices').count()
    await table('Devices')
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .click()
    await answerDialog(site.page, 'Sign out')
    await rows('Devices')
      .nth(before - 1)
      .waitFor({ state: 'detached' })
    await site.page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await answerDialog(site.page, 'Sign out everywhere else')
    await rows('Devices').nth(1).waitFor({ state: 'detached' })
    for (const elsewhere of [first, second]) {
      // The page finds out by itself. A reload at that moment would be an error of the browser.
      await elsewhere.waitForURL('**/login**')
      await elsewhere.context().close()
    }
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(site.complaints, [])
  })
})
