import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'

const candidates = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The Chromium of this process: to start one takes as long as a short test. */
let chromiumOfProcess: Promise<Browser> | undefined
// scripts/screenshots.ts uses this file without a test.
if (process.env['TEST_TALLY_FILE'] !== undefined) after(async () => (await chromiumOfProcess)?.close())

/** The machine's own Chromium, without the calls home that it makes at start. */
export function startChromium(): Promise<Browser> {
  const executablePath = candidates.find((path) => path !== undefined && existsSync(path))
  if (!executablePath)
    throw new Error('no Chromium found: install it (apt-get install chromium), or name it in CHROMIUM_PATH')
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** A suite's browser: contexts of its own in the Chromium of the process, which `close` closes. */
export type SuiteBrowser = Pick<Browser, 'newContext' | 'newPage' | 'close'>

/** Its windows are those of a desk, and pages move nothing, unless a test asks for it. */
export async function launchBrowser(): Promise<SuiteBrowser> {
  const browser = await (chromiumOfProcess ??= startChromium())
  const contexts: BrowserContext[] = []
  const usual = { viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' } as const
  return {
    async newContext(options) {
      const context = await browser.newContext({ ...usual, ...options })
      contexts.push(context)
      return context
    },
    async newPage(options) {
      const page = await browser.newPage({ ...usual, ...options })
      contexts.push(page.context())
      return page
    },
    async close() {
      await Promise.all(contexts.map((context) => context.close()))
    },
  }
}

/** Opens a page. `complaints` gets the errors of its console and of its scripts. */
export async function openPage(
  browser: SuiteBrowser,
  complaints: string[],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await browser.newPage(options)
  collectErrors(page, complaints)
  return page
}

/** `complaints` gets the errors of the page's console and of its scripts from now on. */
export function collectErrors(page: Page, complaints: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
}

/** The addresses of another origin than the service's that a page calls from now on. */
export function callsElsewhere(page: Page, { baseUrl }: { baseUrl: string }): string[] {
  const elsewhere: string[] = []
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (/^https?:$/.test(protocol) && origin !== baseUrl) elsewhere.push(request.url())
  })
  return elsewhere
}

/** Signs in through the built-in provider, and arrives at the dashboard. */
export async function signIn(page: Page, { baseUrl }: { baseUrl: string }, person: string): Promise<void> {
  await page.goto(`${baseUrl}/login`)
  await page.getByRole('link', { name: /development provider/ }).click()
  await page.getByText(person).first().click()
  await page.waitForURL(/\/dashboard(?:\/account)?$/)
}

/** Presses the named button of the dialog that asks before something is done, and waits until the dialog is gone. */
export async function answerDialog(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole('alertdialog')
  await dialog.getByRole('button', { name, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** Keeps a picture of the page where SCREENSHOTS names a folder; otherwise does nothing. */
export async function picture(page: Page, name: string, fullPage = true): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage })
}

/** Keeps pictures of what is in view, in both themes and at the widths of a desk and a telephone; then it is as before. */
export async function pictures(page: Page, name: string): Promise<void> {
  if (!process.env['SCREENSHOTS']) return
  const size = page.viewportSize()!
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await picture(page, `${name}-${width}-${colorScheme}`, false)
    }
  }
  await page.setViewportSize(size)
}
