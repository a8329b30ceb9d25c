import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { describe, test } from 'node:test'
import { engines, started, startedService } from '../harness/index.ts'
import { launchBrowser, signIn } from './browser.ts'

/** What the first view of Home may take, with an empty cache of the browser. */
const limits = { scriptBytes: 150_000, requests: 8 }
/** One way and back, of every answer. Milliseconds. */
const roundTrip = 150

describe('the first view of the dashboard', () => {
  const service = startedService(engines[0]!)
  const browser = started(launchBrowser)

  test('it needs few requests and little script, and is soon usable over a slow line', async () => {
    // The charts are below it: they load as they come into view.
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
    const first = await context.newPage()
    await signIn(first, service, 'Ada Lovelace')
    await first.close()
    const page = await context.newPage()
    const devTools = await context.newCDPSession(page)
    await devTools.send('Network.enable')
    await devTools.send('Network.setCacheDisabled', { cacheDisabled: true })
    const requests: string[] = []
    let scriptBytes = 0
    const reading: Promise<void>[] = []
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      if (pathname === '/assets/icon.svg') return
      requests.push(pathname)
      if (pathname.endsWith('.js'))
        reading.push(response.body().then((body) => void (scriptBytes += gzipSync(body).length)))
    })
    await devTools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: roundTrip,
      downloadThroughput: -1,
      uploadThroughput: -1,
    })
    const began = performance.now()
    await page.goto(`${service.baseUrl}/dashboard`, { waitUntil: 'commit' })
    await page.getByRole('heading', { level: 1 }).waitFor()
    const usable = performance.now() - began
    await page.waitForLoadState('networkidle')
    await Promise.all(reading)
    console.log(
      `${requests.length} requests, ${scriptBytes} bytes of script, usable after ${Math.round(usable)} ms`,
    )
    assert.ok(scriptBytes <= limits.scriptBytes, `${scriptBytes} bytes of compressed script`)
    assert.ok(requests.length <= limits.requests, requests.join(' '))
  })
})
