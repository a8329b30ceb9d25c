// The portal in a frame of pages of other origins: docs/adr/0048-embedded-portal.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startEmitting, subscribe } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { engines, listening, started, type TestService } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser } from './browser.ts'

const library = stripTypeScriptTypes(
  readFileSync(new URL('../../packages/client/src/browser/embed-portal.ts', import.meta.url), 'utf8'),
)
const html = `<!doctype html><html lang="en"><title>App</title><main><h1>App</h1><div id="webhooks"></div><p id="said"></p></main>
<script type="module">
import { embedPortal } from '/embed-portal.js'
globalThis.links = 0
embedPortal(document.getElementById('webhooks'), {
  createLink: async () => { links += 1; return (await fetch('/link')).text() },
  onFailed: (reason) => { document.getElementById('said').textContent = 'failed: ' + reason },
})
</script></html>`

describe('the portal in a frame', () => {
  let service: TestService
  let allowed: Awaited<ReturnType<typeof startApp>>
  let stranger: Awaited<ReturnType<typeof startApp>>

  /** An application of another origin, whose server makes links. */
  async function startApp(host: string) {
    const server = createServer((request, response) => {
      void (async () => {
        if (request.url === '/link') return response.end(await makeLink(service, 'acme'))
        const script = request.url === '/embed-portal.js'
        response.setHeader('content-type', script ? 'text/javascript' : 'text/html')
        return response.end(script ? library : html)
      })()
    })
    const { port, close } = await listening(server)
    return { close, origin: `http://${host}:${port}` }
  }

  const browser = started(launchBrowser)
  before(async () => {
    // Another host than that of the service: another site, whose cookies are those of a third party.
    allowed = await startApp('localhost')
    stranger = await startApp('localhost')
    service = await startEmitting(engines[0]!, { env: { PORTAL_FRAME_ORIGINS: allowed.origin } })
    await subscribe(service, { url: 'http://127.0.0.1:9/of-acme', owner: 'acme' })
    await subscribe(service, { url: 'http://127.0.0.1:9/of-globex', owner: 'globex' })
  })
  after(async () => {
    await service?.close()
    for (const app of [allowed, stranger]) await app?.close()
  })

  const visit = async (origin: string): Promise<Page> => {
    const page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    await page.goto(origin)
    return page
  }

  test('is shown on a page of an allowed origin, for its owner, without a cookie', async () => {
    const page = await visit(allowed.origin)
    const frame = page.frameLocator('iframe')
    await frame.getByRole('button', { name: /of-acme/ }).waitFor()
    assert.deepEqual(await page.context().cookies(), [])
    assert.equal(await frame.getByRole('button', { name: 'Log out' }).count(), 0)
    await assertAccessible(page)
    await page.close()
  })

  test('grows with its content, but for messages of other windows', async () => {
    const page = await visit(allowed.origin)
    const frame = page.frameLocator('iframe')
    await frame.getByRole('button', { name: /of-acme/ }).click()
    await frame.getByRole('tab', { name: 'Verification code' }).click()
    const height = (): Promise<number> =>
      page
        .locator('iframe[title=Webhooks]')
        .evaluate((element) => (element as unknown as { offsetHeight: number }).offsetHeight)
    await frame.getByLabel('Language').waitFor()
    await eventually(async () => (await height()) > 600, 'the frame is as high as its content')
    const before = await height()
    // From this page itself, and from a frame of another origin.
    await page.evaluate(`postMessage({ type: 'postern-portal-height', height: 9000 }, '*')`)
    await page.evaluate(
      (address) =>
        new Promise((resolve) => {
          const { document } = globalThis as unknown as {
            document: {
              createElement(name: string): Record<string, unknown>
              body: { append(node: unknown): void }
            }
          }
          const other = document.createElement('iframe')
          other['onload'] = resolve
          other['src'] = address
          document.body.append(other)
        }),
      `${stranger.origin}/embed-portal.js`,
    )
    const foreign = page.frames().find((one) => one.url().startsWith(stranger.origin))!
    await foreign.evaluate(`parent.postMessage({ type: 'postern-portal-height', height: 9000 }, '*')`)
    await foreign.evaluate(`parent.postMessage({ type: 'postern-portal-link-wanted' }, '*')`)
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
    assert.ok((await height()) < 9_000 && (await height()) >= before)
    assert.equal(await page.evaluate('links'), 1, 'no link was made for another window')
    await page.close()
  })

  test('keeps its session when the keyboard skips to the content', async () => {
    const page = await visit(allowed.origin)
    const frame = page.frameLocator('iframe')
    await frame.getByRole('button', { name: /of-acme/ }).waitFor()
    await frame.getByRole('link', { name: 'Skip to content' }).focus()
    await page.keyboard.press('Enter')
    await frame.locator('#content:focus').waitFor()
    await frame.getByRole('button', { name: /of-acme/ }).click()
    await frame.getByRole('tab', { name: 'Overview' }).waitFor()
    assert.equal(await page.evaluate('links'), 1)
    await page.close()
  })

  test('may write to the clipboard', async () => {
    const page = await visit(allowed.origin)
    const frame = page.frameLocator('iframe')
    await frame.getByRole('button', { name: /of-acme/ }).click()
    await frame.getByRole('tab', { name: 'Verification code' }).click()
    await frame.getByRole('button', { name: /^Copy / }).click()
    await frame.getByRole('status').getByText('Copied').waitFor()
    await page.close()
  })

  test('asks for another link when its session is over', async () => {
    const page = await visit(allowed.origin)
    const frame = page.frameLocator('iframe').first()
    await frame.getByRole('button', { name: /of-acme/ }).waitFor()
    const inner = page.frames().find((one) => one.url().startsWith(service.baseUrl))!
    await inner.evaluate('location.reload()')
    await frame.getByText('Your session has ended').waitFor()
    await frame.getByRole('button', { name: 'Continue' }).click()
    await frame.getByRole('button', { name: /of-acme/ }).waitFor()
    assert.equal(await page.evaluate('links'), 2)
    await page.close()
  })

  test('never shows the session of another tab', async () => {
    const context = await browser.newContext()
    const tab = await context.newPage()
    await tab.goto(await makeLink(service, 'globex'))
    await tab.getByRole('button', { name: /of-globex/ }).waitFor()
    const page = await context.newPage()
    await page.goto(allowed.origin)
    await page
      .frameLocator('iframe')
      .getByRole('button', { name: /of-acme/ })
      .waitFor()
    await tab.reload()
    await tab.getByRole('button', { name: /of-globex/ }).waitFor()
    await context.close()
  })

  test('is refused on a page of another origin, which is told', async () => {
    const page = await visit(stranger.origin)
    const said = page.waitForEvent('console', (message) => message.text().includes('(refused)'))
    await page.getByText('failed: refused').waitFor()
    assert.equal(await page.locator('iframe').count(), 0)
    assert.ok((await said).text().includes(`Add ${stranger.origin} to PORTAL_FRAME_ORIGINS`))
    await page.close()
  })
})
