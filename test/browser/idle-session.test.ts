// An open dashboard refreshes by itself. Only calls that follow an input of the person keep the session from ending.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Request } from 'playwright-core'
import { PeopleSite } from './people.ts'

describe('the calls of the home page', () => {
  const site = new PeopleSite({ env: { ADMIN_IDENTITIES: 'demo:ada' } })

  test('say that nobody asked for them once the person has left', async () => {
    const { page } = site
    await page.clock.install()
    await site.signIn(page, 'Ada Lovelace')
    await site.open('/')
    const isPoll = (request: Request): boolean => new URL(request.url()).pathname === '/attention'
    const saysBackground = async (): Promise<boolean> => {
      const [request] = await Promise.all([page.waitForRequest(isPoll), page.clock.fastForward(15_000)])
      return (await request.allHeaders())['postern-background'] === 'true'
    }
    await page.mouse.move(40, 40)
    assert.equal(await saysBackground(), false)
    await page.clock.fastForward(60_000)
    assert.equal(await saysBackground(), true)
    await page.keyboard.press('Shift')
    assert.equal(await saysBackground(), false)
  })
})
