import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { pictures } from './browser.ts'

interface Finding {
  id: string
  help: string
  nodes: { html: string; failureSummary?: string }[]
}

/** WCAG 2.2, levels A and AA, as axe checks them. */
const all = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
/** The rules that look at colours, which alone differ between the themes. */
const ofColours = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

let pictured = 0

/**
 * Fails when axe finds a fault on the page, in the light or the dark theme, and leaves it in the light one. Where SCREENSHOTS names a
 * folder, it gets pictures of the page, named by its path.
 */
export async function assertAccessible(page: Page): Promise<void> {
  // Through the debugger, so that the page's policy against foreign scripts stays as it is.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe.source)
  for (const [colorScheme, runOnly] of [
    ['dark', ofColours],
    ['light', all],
  ] as const) {
    // A colour on its way from one theme to the other would be a finding.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // The new colours are there with the second frame.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const findings = await page.evaluate(async (runOnly) => {
      const { axe } = globalThis as unknown as {
        axe: { run: (options: object) => Promise<{ violations: Finding[] }> }
      }
      const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] })
      return violations.map(({ id, help, nodes }) => ({
        id,
        help,
        nodes: nodes
          .slice(0, 5)
          .map(({ html, failureSummary }) => ({ html: html.slice(0, 300), failureSummary })),
      }))
    }, runOnly)
    assert.deepEqual(findings, [], `${page.url()}, ${colorScheme}`)
  }
  pictured += 1
  await pictures(page, `${new URL(page.url()).pathname.slice(1).replaceAll('/', '-')}-${pictured}`)
}

/** The same at the widths of a desk and of a telephone, where nothing may be wider than the window. The page is a desk's after it. */
export async function assertFits(page: Page): Promise<void> {
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    await assertAccessible(page)
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(wider <= 0, `${page.url()} is ${wider} pixels wider than ${width}`)
  }
}
