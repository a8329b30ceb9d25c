import { after, before } from 'node:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/runtime/clock.ts'
import { engines, startTestService, type TestService, type TestServiceOptions } from '../harness/index.ts'
import { launchBrowser, openPage, signIn, type SuiteBrowser } from './browser.ts'

/** A service in demo mode and a browser, for the suite that creates it. */
export class PeopleSite {
  service!: TestService
  browser!: SuiteBrowser
  page!: Page
  /** Milliseconds that the clock of the service is ahead. */
  shift = 0
  /** What the browser reported; a test removes what it expects. */
  readonly complaints: string[] = []
  /** The calls of the page that change something. */
  readonly changes: string[] = []

  constructor(options: TestServiceOptions = {}) {
    before(async () => {
      const clock = { ...systemClock, now: () => Date.now() + this.shift }
      this.service = await startTestService(engines[0]!, { ...options, parts: { clock } })
      this.browser = await launchBrowser()
      this.page = await openPage(this.browser, this.complaints)
      this.page.on('request', (request) => {
        if (request.method() !== 'GET')
          this.changes.push(`${request.method()} ${new URL(request.url()).pathname}`)
      })
    })
    after(async () => {
      await this.browser?.close()
      await this.service?.close()
    })
  }

  /** Signs a person in in a browser of their own, which stays open. */
  async elsewhere(person: string): Promise<Page> {
    const page = await (await this.browser.newContext()).newPage()
    await this.signIn(page, person)
    return page
  }

  signIn(page: Page, person: string): Promise<void> {
    return signIn(page, this.service, person)
  }

  /** Opens a page of the dashboard. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.service.baseUrl}/dashboard${path}`)
    await this.page.getByRole('heading', { level: 1 }).waitFor()
  }
}
