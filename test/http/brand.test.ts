import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readEnvironment } from '../../src/config/environment.ts'
import { Browser, engines, started, startOAuthProvider, temporaryFolder } from '../harness/index.ts'
import { startedService, startTestService } from '../harness/service.ts'
import { signIn } from '../login/harness.ts'

describe('the brand of an installation', () => {
  const folder = temporaryFolder()
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    await writeFile(
      join(folder, 'logo.svg'),
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    )
    await writeFile(join(folder, 'large.png'), Buffer.alloc(100_001))
    await writeFile(join(folder, 'logo.html'), '<p>')
    return startTestService(engines[0]!, {
      env: {
        ...provider.env('ACME'),
        BRAND_NAME: 'Tom & <Anna>',
        BRAND_LOGO: join(folder, 'logo.svg'),
        BRAND_COLOR: '#FFCC00',
      },
    })
  })

  test('is on the pages for people, escaped', async () => {
    for (const path of ['/login', '/device?user_code=BCDF-GHJK', '/oauth2/end-session', '/nope']) {
      const { response } = await new Browser().follow(new URL(path, service.baseUrl))
      const page = response.headers.get('content-type')!.startsWith('text/html')
        ? await response.text()
        : await (await service.fetch(path, { headers: { accept: 'text/html' } })).text()
      assert.match(page, / · Tom &amp; &lt;Anna&gt;<\/title>/, path)
      assert.match(
        page,
        /<p class="brand"><img src="\/assets\/brand-logo" alt="">Tom &amp; &lt;Anna&gt;<\/p>/,
        path,
      )
      assert.match(page, /href="\/assets\/brand\.css"/, path)
    }
  })

  test('its logo runs no script when it is opened by itself', async () => {
    const logo = await service.fetch('/assets/brand-logo')
    assert.equal(logo.headers.get('content-type'), 'image/svg+xml')
    assert.match(logo.headers.get('content-security-policy')!, /default-src 'none'.*sandbox/)
    assert.match(logo.headers.get('cache-control')!, /max-age/)
  })

  test('its colour is adapted to both themes', async () => {
    const css = await (await service.fetch('/assets/brand.css')).text()
    const [, light, dark] = /--accent:light-dark\((#[\da-f]{6}),(#[\da-f]{6})\)/.exec(css)!
    assert.notEqual(light, '#ffcc00', 'yellow on white cannot be read')
    assert.equal(dark, '#ffcc00')
  })

  test('wrong settings stop the start, and say why', async () => {
    assert.throws(
      () => readEnvironment({ BRAND_COLOR: 'red' }),
      /BRAND_COLOR is wrong: expected a colour such as/,
    )
    assert.throws(() => readEnvironment({ BRAND_COLOR: '#fff;}' }), /BRAND_COLOR is wrong/)
    assert.throws(() => readEnvironment({ BRAND_NAME: 'a\nb' }), /BRAND_NAME is wrong/)
    const faults = {
      'large.png': /more than 100000 bytes/,
      'logo.html': /ends in \.svg/,
      'none.svg': /no such file/,
    }
    for (const [file, fault] of Object.entries(faults))
      await assert.rejects(
        startTestService(engines[0]!, { env: { BRAND_LOGO: join(folder, file) } }),
        fault,
        file,
      )
  })
})

describe('the provider used last', () => {
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({
    env: { ...provider.env('ACME'), ...provider.env('OTHER') },
  }))

  const names = (html: string): string[] =>
    [...html.matchAll(/href="\/auth\/(\w+)/g)].map(([, name]) => name!)
  const login = async (browser: Browser): Promise<string> =>
    (await browser.go(new URL('/login', service.baseUrl))).text()

  test('is the first button in this browser, and marked', async () => {
    const browser = new Browser()
    const before = names(await login(browser))
    assert.notEqual(before[0], 'other')
    await signIn(service, browser, '/auth/other')
    const html = await login(browser)
    assert.equal(names(html)[0], 'other')
    assert.deepEqual(names(html).toSorted(), before.toSorted())
    assert.equal(html.match(/Last used/g)!.length, 1)
    assert.match(
      html,
      /<a [^>]*href="\/auth\/other"[^>]*><img [^>]*> Continue with Other <span class="soft mark">Last used<\/span><\/a>/,
    )
    assert.doesNotMatch(await login(new Browser()), /Last used/)
  })

  test('a value that names no provider has no effect', async () => {
    for (const value of ['nobody', '"><script>', '%22', 'a'.repeat(65)]) {
      const response = await service.fetch('/login', {
        headers: { cookie: `postern_last_provider=${value}` },
      })
      assert.equal(response.status, 200)
      assert.doesNotMatch(await response.text(), /Last used|nobody|<script>/)
    }
  })

  test('the page has no script and is small', async () => {
    const html = await login(new Browser())
    assert.doesNotMatch(html, /<script/)
    const paths = [...html.matchAll(/(?:href|src)="(\/(?:assets|brand)[^"]*)"/g)].map(([, path]) => path!)
    let bytes = Buffer.byteLength(html)
    for (const path of new Set(paths)) bytes += (await (await service.fetch(path)).arrayBuffer()).byteLength
    assert.ok(bytes < 12_000, `${bytes} bytes`)
  })
})
