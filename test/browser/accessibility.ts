import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Finding {
  id: string
  help: string
  nodes: { html: string; failureSummary?: string }[]
}

/** WCAG 2.2, levels A and AA, as axe checks them. */
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Fails when axe finds a fault on the page, in the light or the dark theme. */
export async function assertAccessible(page: Page): Promise<void> {
  // Through the debugger, so that the page's policy against foreign scripts stays as it is.
  await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    // A colour on its way from one theme to the other would be a finding.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // The new colours are there with the second frame.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const findings = await page.evaluate(async (tags) => {
      const { axe } = globalThis as unknown as {
        axe: { run: (options: object) => Promise<{ violations: Finding[] }> }
      }
      const { violations } = await axe.run({ runOnly: tags })
      return violations.map(({ id, help, nodes }) => ({
        id,
        help,
        nodes: nodes
          .slice(0, 5)
          .map(({ html, failureSummary }) => ({ html: html.slice(0, 300), failureSummary })),
      }))
    }, rules)
    assert.deepEqual(findings, [], `${page.url()}, ${colorScheme}`)
  }
}
