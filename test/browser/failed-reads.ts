import type { Page } from 'playwright-core'
import { until } from '../emitting/harness.ts'

/** Refuses each read of `path` from now on, and waits until the page shows that one failed. `page.unrouteAll()` ends it. */
export async function failReads(page: Page, path: string): Promise<void> {
  const body = JSON.stringify({ code: 'not-now', title: 'Not now', status: 409, detail: 'The read failed.' })
  await page.route(
    ({ pathname }) => pathname.endsWith(path),
    (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', body }),
  )
  await until(async () => {
    // Pages that do not poll read again when the person comes back to their tab.
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    return (await page.getByText('The read failed.').count()) > 0
  }, 'the failed read is shown')
}
