import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { expectJson } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { assertAccessible, assertFits } from './accessibility.ts'
import { PeopleSite } from './people.ts'

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" width="28" height="28"><circle cx="14" cy="14" r="14" fill="#7a3cff"/></svg>'

/** An administrator gives one customer's portal a brand of its own. */
describe('the brand of a customer', () => {
  const site = new PeopleSite({ env: { BRAND_NAME: 'Parcels' } })
  before(() => site.signIn(site.page, 'Ada Lovelace'))
  const page = () => site.page
  const section = () => page().locator('section', { hasText: 'Portal branding' })

  test('name, colour and logo are set on the page of the customer', async () => {
    await site.open('/customers/acme')
    await section().getByLabel('Name').fill('Acme hooks')
    await section().getByLabel('Color of buttons and links').fill('#7a3cff')
    const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(logo) }
    await section()
      .getByLabel('Logo')
      .setInputFiles({ ...file, mimeType: 'text/html', name: 'logo.html' })
    await section().getByText('Choose an SVG, PNG, WebP or JPEG.').waitFor()
    await section().getByLabel('Logo').setInputFiles(file)
    await section().getByAltText('The logo on white').waitFor()
    await section().getByRole('button', { name: 'Save branding' }).click()
    await page().getByText('Branding saved').waitFor()
    await assertFits(site.page)
    const stored = await expectJson(site.service, 200, '/owners/acme/brand')
    assert.deepEqual(stored, {
      name: 'Acme hooks',
      color: '#7a3cff',
      logo: `data:image/svg+xml;base64,${Buffer.from(logo).toString('base64')}`,
    })
  })

  test('the portal of this customer has it, in both themes', async () => {
    const portal = await (await site.browser.newContext()).newPage()
    await portal.goto(await makeLink(site.service, 'acme'))
    await portal.getByText('Acme hooks').waitFor()
    assert.equal(await portal.title(), 'Acme hooks')
    const image = portal.getByRole('banner').locator('img')
    assert.match((await image.getAttribute('src'))!, /^data:image\/svg/)
    assert.equal(
      await image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth),
      28,
    )
    const button = portal.getByRole('button', { name: 'Add endpoint' })
    await portal.emulateMedia({ colorScheme: 'light' })
    assert.equal(
      await button.evaluate(
        (element) =>
          (
            globalThis as unknown as { getComputedStyle: (of: unknown) => { backgroundColor: string } }
          ).getComputedStyle(element).backgroundColor,
      ),
      'rgb(122, 60, 255)',
    )
    await assertAccessible(portal)
    // The next visit has it before the session is read.
    const held = Promise.withResolvers<void>()
    await portal.route('**/portal/session', async (route) => {
      await held.promise
      await route.continue()
    })
    await portal.reload()
    await portal.getByText('Acme hooks').waitFor()
    assert.equal(await portal.title(), 'Acme hooks')
    await portal.getByText('Loading').waitFor()
    held.resolve()
    await portal.getByRole('button', { name: 'Add endpoint' }).waitFor()
    await portal.context().close()
  })

  test('a link shows it without moving anything', async () => {
    const portal = await (await site.browser.newContext()).newPage()
    await portal.addInitScript(`
      globalThis.shifts = []
      new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
        .observe({ type: 'layout-shift', buffered: true })
    `)
    await portal.goto(await makeLink(site.service, 'acme'))
    await portal.getByRole('button', { name: 'Add endpoint' }).waitFor()
    await portal.waitForLoadState('networkidle')
    assert.deepEqual(await portal.evaluate('shifts'), [])
    await portal.context().close()
  })

  test('that of another customer has the brand of the installation', async () => {
    const portal = await (await site.browser.newContext()).newPage()
    await portal.goto(await makeLink(site.service, 'globex'))
    await portal.getByText('Parcels').waitFor()
    await portal.context().close()
  })

  test('and it goes back to it', async () => {
    await section().getByRole('button', { name: 'Reset to default' }).click()
    await page().getByAltText('The logo on white').waitFor({ state: 'detached' })
    assert.deepEqual(await expectJson(site.service, 200, '/owners/acme/brand'), {
      name: null,
      color: null,
      logo: null,
    })
    // The customer has no subscriber yet.
    assert.deepEqual(
      site.complaints.filter((text) => !/status of 404/.test(text)),
      [],
    )
  })
})
