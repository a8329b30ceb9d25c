import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { engines, started, startedService } from '../harness/index.ts'
import { assertFits } from './accessibility.ts'
import { callsElsewhere, launchBrowser, openPage, picture, signIn } from './browser.ts'

describe('the API reference', () => {
  const complaints: string[] = []
  let elsewhere: string[]

  const service = startedService(engines[0]!)
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(() => {
    elsewhere = callsElsewhere(page, service)
  })

  test('is read without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const plain = await context.newPage()
    await plain.goto(`${service.baseUrl}/docs`)
    await plain.getByRole('main').getByRole('link', { name: 'Endpoints', exact: true }).click()
    await plain.waitForURL('**/docs/endpoints')
    const call = plain.locator('#get-subscribers-id')
    assert.equal(await call.locator('.tag').first().textContent(), 'scope subscribers:read')
    await call.getByRole('heading', { name: 'TypeScript' }).waitFor()
    await call.locator('summary').first().click()
    await call.getByRole('cell', { name: 'Since when deliveries fail; null while they succeed' }).waitFor()
    assert.equal(await plain.getByRole('main').getByRole('button').count(), 0)
    await context.close()
  })

  test('a filter leaves the calls that have its words', async () => {
    await signIn(page, service, 'Ada Lovelace')
    await page.goto(`${service.baseUrl}/docs`)
    const calls = page.getByRole('navigation', { name: 'Calls' })
    await page.getByLabel('Filter').fill('post /events')
    await page.getByText(/^\d+ calls?$/).waitFor()
    assert.ok(await calls.getByRole('link', { name: 'POST /events', exact: true }).isVisible())
    assert.ok(await calls.getByRole('link', { name: 'GET /events', exact: true }).isHidden())
    await page.getByLabel('Filter').fill('')
    assert.ok(await calls.getByRole('link', { name: 'GET /events', exact: true }).isVisible())
  })

  test('a link of the navigation leads to its call, which is tried with the session', async () => {
    const calls = page.getByRole('navigation', { name: 'Calls' })
    await calls.getByRole('link', { name: 'GET /users', exact: true }).click()
    await page.waitForURL('**/docs/*#get-users')
    const call = page.locator('#get-users')
    await call.getByRole('button', { name: 'Try it' }).click()
    await call.getByLabel('limit').fill('1')
    await call.getByRole('button', { name: 'Send' }).click()
    await call.getByText('"Ada Lovelace"').waitFor()
    await call.getByText(/^GET .*\nHTTP 200 in \d+ ms\n[^]*content-type: application\/json/).waitFor()
  })

  test('a call that changes something asks first, and takes a key that is not stored', async () => {
    await page.goto(`${service.baseUrl}/docs/webhooks-out#post-events`)
    const call = page.locator('#post-events')
    await call.getByRole('button', { name: 'Try it' }).click()
    await call.getByLabel('API key (not stored)').fill('pk_wrong')
    const questions: string[] = []
    page.on('dialog', (dialog) => {
      questions.push(dialog.message())
      void dialog.accept()
    })
    await call.getByRole('button', { name: 'Send' }).click()
    await call.getByText(/HTTP 401/).waitFor()
    await call.getByLabel('API key (not stored)').fill('')
    await call.getByRole('button', { name: 'Send' }).click()
    await call.getByText(/HTTP 202/).waitFor()
    assert.match(questions.join(), /^Send POST \/events\?/)
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    assert.doesNotMatch(String(stored), /pk_wrong/)
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')))
    await picture(page, 'docs-try', false)
  })

  test('has no faults that axe finds, and fits both widths', async () => {
    for (const path of ['/docs', '/docs/alerts']) {
      await page.goto(`${service.baseUrl}${path}`)
      await assertFits(page)
    }
  })

  test('loads nothing from elsewhere and breaks no policy', () => {
    assert.deepEqual(elsewhere, [])
    assert.deepEqual(complaints, [])
  })
})
