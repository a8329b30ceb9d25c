// The portal in languages other than English: the first view, an endpoint with a failed delivery, and its forms.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { de } from '../../dashboard/src/portal/language/de.ts'
import type { Words } from '../../dashboard/src/portal/language/en.ts'
import { ja } from '../../dashboard/src/portal/language/ja.ts'
import { pl } from '../../dashboard/src/portal/language/pl.ts'
import { emit, startEmitting, subscribe } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { engines, started, startReceiver } from '../harness/index.ts'
import { assertFits } from './accessibility.ts'
import { launchBrowser, pictures } from './browser.ts'

describe('the portal in the language of its reader', () => {
  const receiver = started(() => startReceiver(500, 500, 500, 500))
  const service = started(() =>
    startEmitting(engines[0]!, {
      config: { emitting: { eventTypes: { 'order.shipped': { samples: [{ order: 42 }] } } } },
    }),
  )
  const browser = started(launchBrowser)

  for (const [tag, words] of [
    ['de', de],
    ['ja', ja],
    ['pl', pl],
  ] as [string, Words][])
    test(`${tag}: list, delivery, forms and an error`, async () => {
      const { portal } = words
      await subscribe(service, { url: receiver.url, owner: tag })
      await emit(service, { type: 'order.shipped', data: { order: 42 }, audience: tag })
      const context = await browser.newContext({ locale: tag })
      const page = await context.newPage()
      const tables: string[] = []
      page.on('request', (request) => {
        const [name] = /\/[a-z]{2}-[\w-]+\.js$/.exec(request.url()) ?? []
        if (name !== undefined) tables.push(name.slice(1, 3))
      })
      const button = (name: string) => page.getByRole('button', { name, exact: true })
      const look = async (name: string): Promise<void> => {
        assert.equal(await page.evaluate('document.documentElement.lang'), tag)
        if (name !== 'code')
          assert.doesNotMatch(await page.locator('body').innerText(), /\{[a-z]\w*\}|undefined/, name)
        if (tag === 'de') return assertFits(page)
        for (const width of [390, 1440]) {
          await page.setViewportSize({ width, height: 900 })
          assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, name)
        }
        await pictures(page, `portal-${tag}-${name}`)
      }
      await page.goto(`${service.baseUrl}/portal`)
      await page.getByText(portal.signedOut, { exact: true }).waitFor()
      await page.goto(await makeLink(service, tag))
      await page.getByRole('heading', { level: 1, name: portal.yourEndpoints }).waitFor()
      await look('list')
      await button(receiver.url).click()
      await page.getByRole('cell', { name: 'HTTP 500', exact: true }).waitFor()
      await button('order.shipped').click()
      const drawer = page.getByRole('dialog')
      await drawer.getByText(words.advice['server-error']).first().waitFor()
      await look('delivery')
      await drawer.getByRole('button', { name: words.ui.close }).click()
      for (const [name, label] of [
        ['code', portal.verificationCode],
        ['overview', portal.overview],
        ['replays', words.replays.list],
        ['secrets', portal.secrets],
      ] as const) {
        await page.getByRole('tab', { name: label, exact: true }).click()
        await look(name)
      }
      await button(portal.edit).click()
      await page.getByLabel('URL').fill('ftp://files.example.com')
      await button(words.ui.save).click()
      const [start] = words.problems['invalid-body'].split('{') as [string]
      await page.getByRole('alert').filter({ hasText: start }).waitFor()
      await look('form')
      await page.getByText(portal.moreSettings).click()
      await page.getByLabel(words.settings.body, { exact: true }).scrollIntoViewIfNeeded()
      await look('settings')
      assert.deepEqual([...new Set(tables)], [tag])
      await context.close()
    })

  test('ui_locales in the link comes before the language of the browser', async () => {
    const context = await browser.newContext({ locale: 'fr' })
    const page = await context.newPage()
    await page.goto((await makeLink(service, 'de')).replace('#', '?ui_locales=de-AT#'))
    await page.getByRole('heading', { level: 1, name: de.portal.yourEndpoints }).waitFor()
    assert.equal(new URL(page.url()).search, '?ui_locales=de-AT')
    await context.close()
  })
})
