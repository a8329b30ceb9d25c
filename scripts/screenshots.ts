// `npm run screenshots -- FOLDER`: pictures of every page of the dashboard of a service in demo mode, at 1440 and 390 pixels, light and
// dark. Without a folder: those of docs/, at 1440, light.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { signIn, startChromium } from '../test/browser/browser.ts'
import { readOptions } from '../test/harness/script-options.ts'
import { withFewColours } from './screenshots/few-colours.ts'

const root = join(import.meta.dirname, '..')
const port = 3_479
const baseUrl = `http://127.0.0.1:${port}`

/** The pages by name; `detail` opens the first link of the list, or the first with this text. */
const pages: readonly { name: string; path: string; detail?: true | string }[] = [
  { name: 'home', path: '/' },
  { name: 'events', path: '/events', detail: true },
  { name: 'failures', path: '/failures', detail: true },
  { name: 'sources', path: '/sources', detail: 'shop' },
  { name: 'handlers', path: '/handlers', detail: true },
  { name: 'deliveries', path: '/deliveries', detail: true },
  { name: 'subscribers', path: '/subscribers', detail: true },
  { name: 'event-types', path: '/event-types', detail: true },
  { name: 'customers', path: '/customers', detail: true },
  { name: 'alerts', path: '/alerts' },
  { name: 'users', path: '/users', detail: 'Grace Hopper' },
  { name: 'providers', path: '/providers', detail: true },
  { name: 'apps', path: '/apps', detail: true },
  { name: 'data', path: '/data', detail: '/products' },
  { name: 'system', path: '/system' },
  { name: 'keys', path: '/system/keys' },
  { name: 'audit', path: '/system/audit' },
  { name: 'jobs', path: '/system/jobs' },
  { name: 'queues', path: '/system/queues' },
  { name: 'settings', path: '/system/settings' },
  { name: 'doctor', path: '/system/doctor' },
  { name: 'account', path: '/account' },
]

/** What the documentation shows. */
const shownInDocs = new Set([
  'home',
  'event',
  'failures',
  'subscriber',
  'delivery',
  'user',
  'settings',
  'login',
  'portal',
  'dry-run',
])
/** Only for the time of the pictures. */
const key = 'pk_screenshots_0123456789abcdef'

interface View {
  width: number
  colorScheme: 'light' | 'dark'
}

const {
  positionals: [folder],
} = readOptions(import.meta.filename, { allowPositionals: true })
const views: View[] = folder
  ? [1_440, 390].flatMap((width) =>
      (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
    )
  : [{ width: 1_440, colorScheme: 'light' }]

async function startDemo(data: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['scripts/run.mjs', 'serve'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      DATABASE_URL: `sqlite:${join(data, 'demo.db')}`,
      ADMIN_API_KEY: key,
    },
  })
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    const answer = await fetch(`${baseUrl}/readyz`).catch(() => undefined)
    if (answer?.ok) return child
    await new Promise((done) => setTimeout(done, 200))
  }
  throw new Error('the service did not start within a minute')
}

async function takePictures(browser: Browser, { width, colorScheme }: View, target: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  const view = { width, colorScheme }
  await page.setViewportSize({ width, height: 400 })
  await page.goto(`${baseUrl}/login`)
  await keep(page, 'login', view, target, 400)
  await page.setViewportSize({ width, height: 900 })
  await signIn(page, { baseUrl }, 'Ada Lovelace')
  for (const { name, path, detail } of pages) {
    await open(page, path)
    await keep(page, name, view, target)
    if (!detail) continue
    const links = page.getByRole('main').locator('table tbody a, ul a')
    const link = (detail === true ? links : links.filter({ hasText: detail })).first()
    const href = await link.getAttribute('href', { timeout: 2_000 }).catch(() => null)
    if (href === null) console.log(`${name}: nothing to open`)
    else {
      const one = name.replace(/ies$/, 'y').replace(/s$/, '')
      await open(page, href.replace(/^\/dashboard/, ''))
      await keep(page, one, view, target)
      await keepTabs(page, one, view, target)
    }
  }
  await open(page, '/failures')
  await page.getByRole('main').locator('table tbody a, ul a').first().click()
  await page.getByRole('button', { name: 'Dry run' }).first().click()
  await page.getByRole('region', { name: 'Result of the dry run' }).scrollIntoViewIfNeeded()
  await keep(page, 'dry-run', view, target)
  await page.goto(await portalLink())
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForTimeout(700)
  await keep(page, 'portal', view, target, 320)
  await page.close()
}

/** The other tabs of the page. */
async function keepTabs(page: Page, name: string, view: View, target: string): Promise<void> {
  const tabs = await page.getByRole('main').getByRole('tab', { selected: false }).all()
  const names = await Promise.all(tabs.map((tab) => tab.getAttribute('data-tab')))
  for (const tab of names) {
    await page.locator(`[data-tab="${tab}"]`).click()
    await page.waitForTimeout(1_000)
    await keep(page, `${name}-${tab}`, view, target)
  }
}

/** Where the customer of the samples sees its endpoints. */
async function portalLink(): Promise<string> {
  const answer = await fetch(`${baseUrl}/portal-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ owner: 'acme' }),
  })
  return ((await answer.json()) as { url: string }).url
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${baseUrl}/dashboard${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor({ timeout: 10_000 })
  // What the page reads after it is there, and its charts, which are loaded as they come near the view.
  await page.waitForTimeout(1_500)
  await page.evaluate('scrollTo(0, document.body.scrollHeight)')
  await page.waitForTimeout(700)
  await page.evaluate('scrollTo(0, 0)')
}

/** In the browser: errors name the folder of this checkout, which no reader has. */
function withoutMachine(folder: string): void {
  const { document, NodeFilter } = globalThis as unknown as {
    document: {
      body: object
      createTreeWalker: (of: object, what: number) => { nextNode: () => Text | null }
    }
    NodeFilter: { SHOW_TEXT: number }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    node.data = node.data.replaceAll(folder, '/srv/postern')
}
interface Text {
  data: string
}

/** @param height of a page that has little on it, in the documentation */
async function keep(page: Page, name: string, view: View, target: string, height?: number): Promise<void> {
  const { width, colorScheme } = view
  if (!folder && !shownInDocs.has(name)) return
  await page.evaluate(withoutMachine, root)
  const file = folder ? `${name}-${width}-${colorScheme}.png` : `${name}.png`
  const picture = withFewColours(
    await page.screenshot({
      fullPage: folder !== undefined,
      ...(!folder && height && { clip: { x: 0, y: 0, width, height } }),
    }),
  )
  writeFileSync(join(target, file), picture)
  console.log(`${file}: ${picture.length} bytes`)
}

const data = mkdtempSync(join(tmpdir(), 'postern-screenshots-'))
const target = folder ?? join(root, 'docs/screenshots')
mkdirSync(target, { recursive: true })
const service = await startDemo(data)
const browser = await startChromium()
try {
  for (const view of views) await takePictures(browser, view, target)
} finally {
  await browser.close()
  service.kill()
  rmSync(data, { recursive: true, force: true })
}
