import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/ids.ts'
import { assertFits } from './accessibility.ts'
import { answerDialog } from './browser.ts'
import { PeopleSite } from './people.ts'
import type { AnswerTo } from '#test/harness/answers.ts'

/** What administrators do with users and providers. */
describe('users on the dashboard', () => {
  const site = new PeopleSite()
  before(async () => {
    await site.elsewhere('Grace Hopper')
    await site.signIn(site.page, 'Ada Lovelace')
    const rows = Array.from({ length: 60 }, (_, index) => ({
      // Older than all ids of today, so that the people who signed in come first.
      id: `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`,
      email: `person${index}@example.com`,
      name: `Person ${index}`,
      provider: index % 2 === 0 ? 'demo' : 'github',
      provider_id: `p${index}`,
      role: 'user' as const,
      blocked_at: index === 7 ? Date.now() : null,
      created_at: Date.now(),
    }))
    await site.service.database.transaction((tx) => tx.insertInto('users').values(rows).execute())
  })
  const page = () => site.page
  const rows = () => page().getByRole('table', { name: 'Users' }).locator('tbody tr')
  const only = (name: string) =>
    page()
      .getByText(`1 user`, { exact: true })
      .waitFor()
      .then(() => rows().getByText(name).first().waitFor())

  test('from Home an administrator blocks a user', async () => {
    await site.open('/')
    await page().getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Users' }).click()
    await page()
      .getByRole('link', { name: /Grace Hopper/ })
      .click()
    await page().getByRole('button', { name: 'Block', exact: true }).click()
    const dialog = page().getByRole('alertdialog', { name: 'Block Grace Hopper?' })
    await dialog.getByText(/ends? at once.*cannot sign in/).waitFor()
    await dialog.getByRole('button', { name: 'Block' }).click()
    await page().getByRole('button', { name: 'Unblock' }).waitFor()
    await page().locator('h1').getByText('blocked').waitFor()
    const { data } = (await (
      await site.service.admin('/users?blocked=true&q=grace')
    ).json()) as AnswerTo<'GET /users'>
    assert.equal(data.length, 1)
  })

  test('search and filters are in the address, and Back returns to them', async () => {
    await site.open('/users')
    await rows().nth(49).waitFor()
    await page().getByText('62 users').waitFor()
    await assertFits(site.page)
    await page().getByLabel('Search users').fill('person1')
    await page().getByText('11 users').waitFor()
    assert.match(page().url(), /[?&]q=person1/)
    await page().getByLabel('Provider').selectOption('demo')
    await page().getByText('5 users').waitFor()
    await page().getByLabel('Search users').fill('person12@')
    await only('Person 12')
    await rows().getByRole('link').first().click()
    await page().getByRole('heading', { name: 'Person 12', level: 1 }).waitFor()
    await page().goBack()
    await only('Person 12')
    assert.equal(await page().getByLabel('Search users').inputValue(), 'person12@')
    await site.open('/users?blocked=yes')
    await page().getByText('2 users', { exact: true }).waitFor()
    await site.open('/users?role=admin')
    await only('Ada Lovelace')
    await site.open('/users?seen=7d')
    await page().getByText('2 users', { exact: true }).waitFor()
    await site.open('/users?q=nobody-at-all')
    await page().getByText('No user matches').waitFor()
  })

  test('pages go on, and the order can be changed', async () => {
    await site.open('/users')
    await page().getByRole('button', { name: 'Next' }).click()
    await page().getByText('page 2').waitFor()
    await rows().nth(12).waitFor({ state: 'detached' })
    assert.equal(await rows().count(), 12)
    await page()
      .getByRole('button', { name: /^Last seen/ })
      .click()
    await page().waitForURL(/sort=-lastSeenAt/)
    await rows().first().getByText('Ada').first().waitFor()
  })

  test('the rows that are shown are exported as CSV', async () => {
    await site.open('/users?q=person1')
    await page().getByText('11 users').waitFor()
    const download = page().waitForEvent('download')
    await page().getByRole('link', { name: 'Export CSV' }).click()
    const text = await readFile(await (await download).path(), 'utf8')
    assert.equal(text.trim().split('\n').length, 12)
    assert.match(text, /^id,email,name,/)
  })

  test("a user's page has identities, devices, apps and the audit log", async () => {
    await site.open('/users?q=grace')
    await page()
      .getByRole('link', { name: /Grace Hopper/ })
      .click()
    await page().getByText('No device is signed in').waitFor()
    await page()
      .getByRole('tab', { name: /^Identities/ })
      .click()
    await page().getByRole('table', { name: 'Identities' }).getByText('demo').first().waitFor()
    await page().getByRole('tab', { name: 'Apps' }).click()
    await page().getByText('No apps yet').waitFor()
    await page().getByRole('tab', { name: 'Audit log' }).click()
    await page().getByRole('table', { name: 'Activity' }).getByText('user.blocked').waitFor()
    assert.match(page().url(), /tab=audit/)
    await assertFits(site.page)
  })

  test('the block is lifted, the role changes, and sessions end one by one and all, each after a question', async () => {
    await page().getByRole('button', { name: 'Unblock' }).click()
    await answerDialog(page(), 'Unblock')
    await page().getByRole('button', { name: 'Block', exact: true }).waitFor()
    for (let time = 0; time < 3; time += 1) await site.elsewhere('Grace Hopper')
    await page()
      .getByRole('tab', { name: /^Devices/ })
      .click()
    await page().reload()
    const devices = page().getByRole('table', { name: 'Devices' }).locator('tbody tr')
    await devices.nth(2).waitFor()
    await devices
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .click()
    await answerDialog(page(), 'Sign out')
    await devices.nth(2).waitFor({ state: 'detached' })
    await page().getByRole('button', { name: 'End all sessions' }).click()
    await answerDialog(page(), 'End all sessions')
    await page().getByText('No device is signed in').waitFor()
    await page().getByRole('button', { name: 'Grant admin role' }).click()
    await page().getByRole('alertdialog', { name: 'Grant Grace Hopper the admin role?' }).waitFor()
    await answerDialog(page(), 'Grant admin role')
    await page().getByRole('button', { name: 'Remove admin role' }).waitFor()
    await page().locator('h1').getByText('admin').waitFor()
  })

  test('an account is deleted after a question, and is gone from the list', async () => {
    await site.open('/users?q=person12@')
    await rows().getByRole('link').first().click()
    await page().getByRole('button', { name: 'Delete', exact: true }).click()
    await page().getByRole('alertdialog', { name: 'Delete Person 12?' }).waitFor()
    await answerDialog(page(), 'Delete')
    await page().getByText('61 users').waitFor()
    const { data } = (await (await site.service.admin('/users?q=person12@')).json()) as { data: unknown[] }
    assert.equal(data.length, 0)
  })

  test('one cannot block oneself; an unknown user is explained', async () => {
    await site.open('/users?q=ada')
    await rows()
      .getByRole('link', { name: /Ada Lovelace/ })
      .click()
    await page().getByText('This is you').waitFor()
    assert.equal(await page().getByRole('button', { name: 'Block', exact: true }).count(), 0)
    assert.deepEqual(site.complaints, [])
    await site.open(`/users/${newId(Date.now())}`)
    await page().getByRole('heading', { name: 'Not found' }).waitFor()
    const [missing, ...others] = site.complaints.splice(0)
    assert.match(missing ?? '', /status of 404/)
    assert.ok(others.every((text) => /status of 404/.test(text)))
  })

  test('providers show state, callback URL and success, and can be checked', async () => {
    await site.open('/providers')
    const card = page().locator('section', { hasText: 'built in for demo mode' })
    await card.getByText(`${site.service.baseUrl}/auth/demo/callback`).waitFor()
    await card.getByText('not checked yet').waitFor()
    await card
      .getByText(/of \d+ succeeded/)
      .first()
      .waitFor()
    await card.getByRole('button', { name: /^Check now/ }).click()
    await card.getByText('can be reached').waitFor()
    await card.getByRole('button', { name: /^Copy the callback URL/ }).waitFor()
    await assertFits(site.page)
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(site.complaints, [])
  })
})
