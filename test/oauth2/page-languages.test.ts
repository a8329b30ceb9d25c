import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { languageOf, languageTags } from '../../src/http/pages/language/languages.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Browser, each, engines, started, startedService, startOAuthProvider } from '../harness/index.ts'
import { authorizeUrl, callback } from './harness.ts'

const html = { accept: 'text/html' }

describe('the language of pages', () => {
  const provider = started(startOAuthProvider)
  const lines: string[] = []
  const service = startedService(engines[0]!, () => ({
    env: { ...provider.env('ACME'), ...provider.env('OTHER') },
    parts: { log: createLog('info', { write: (line: string) => void lines.push(line) }) },
    config: { login: { clients: [{ id: 'spa', redirectUris: [callback] }] } },
  }))
  const languageAt = async (path: string, headers: Record<string, string> = {}, browser = new Browser()) => {
    const response = await browser.go(path, { base: service.baseUrl, headers: { ...html, ...headers } })
    const text = await response.text()
    const [, tag] = /<html lang="([^"]*)">/.exec(text) ?? []
    assert.equal(response.headers.get('content-language'), tag)
    assert.match(response.headers.get('vary') ?? '', /accept-language/i)
    return tag
  }

  test('ui_locales comes before Accept-Language; without both it is English', async () => {
    const french = { 'accept-language': 'fr-FR,fr;q=0.9' }
    for (const path of ['/login', '/nowhere', '/oauth2/end-session', '/oauth2/authorize?client_id=nobody']) {
      const joint = path.includes('?') ? '&' : '?'
      assert.equal(await languageAt(path), 'en', path)
      assert.equal(await languageAt(path, french), 'fr', path)
      assert.equal(await languageAt(`${path}${joint}ui_locales=de-CH%20fr`, french), 'de', path)
      assert.equal(await languageAt(`${path}${joint}ui_locales=xx`, french), 'fr', path)
      assert.equal(await languageAt(`${path}${joint}ui_locales=%22%3E%3Cscript%3E`, french), 'fr', path)
    }
  })

  test("an app's language survives the sign-in, also through a pushed request, a form and a failure", async () => {
    const parameters = authorizeUrl(service, { ui_locales: 'pl' }).searchParams
    const pushed = await service.fetch('/oauth2/par', { method: 'POST', body: parameters })
    const { request_uri: requestUri } = (await pushed.json()) as { request_uri: string }
    const byReference = `/oauth2/authorize?${new URLSearchParams({ client_id: 'spa', request_uri: requestUri }).toString()}`
    const begin: ((browser: Browser) => Promise<Response>)[] = [
      (browser) => browser.go(authorizeUrl(service, { ui_locales: 'pl' })),
      (browser) => browser.go(byReference, { base: service.baseUrl }),
      (browser) =>
        browser.go('/oauth2/authorize', { base: service.baseUrl, method: 'POST', body: parameters }),
    ]
    for (const start of begin) {
      const browser = new Browser()
      const { headers } = await start(browser)
      const { response, url } = await browser.follow(new URL(headers.get('location')!, service.baseUrl))
      assert.equal(url.pathname, '/login')
      assert.match(await response.text(), /<html lang="pl">/)
      const link = new URL('/auth/acme', service.baseUrl)
      link.searchParams.set('return_to', url.searchParams.get('return_to')!)
      provider.answer = { error: 'access_denied' }
      const failed = await browser.follow(link)
      provider.answer = {}
      assert.equal(failed.url.searchParams.get('error'), 'access-denied')
      assert.match(await failed.response.text(), /<html lang="pl">/)
      assert.equal(await languageAt('/nowhere', {}, browser), 'pl')
    }
  })

  test('each failure of a sign-in is explained in each language', async () => {
    for (const tag of languageTags)
      for (const [code, words] of Object.entries(languageOf(tag.slice(0, 2)).words.failures)) {
        const answer = await service.fetch(`/login?error=${code}`, { headers: { 'accept-language': tag } })
        const text = await answer.text()
        assert.ok(text.includes(words), `${tag} ${code}`)
        assert.doesNotMatch(text, /undefined|\{\w/, `${tag} ${code}`)
      }
  })

  test('a cookie of another form, or without a language, has no effect', async () => {
    for (const value of ['xx', 'de-DE', '<b>', '__proto__'])
      assert.equal(await languageAt('/login', { cookie: `postern_language=${value}` }), 'en', value)
  })

  test('the discovery document lists the languages', async () => {
    const document = await (await service.fetch('/.well-known/openid-configuration')).json()
    assert.deepEqual((document as Record<string, unknown>)['ui_locales_supported'], languageTags)
  })

  test('the reference ID of an error page is in the log, and that of a failed sign-in in the audit log, too', async () => {
    const idOf = (text: string) =>
      /class="reference"><span>(\w{4})<\/span><span>(\w{4})<\/span>/.exec(text)!.slice(1).join('')
    const page = await new Browser().go('/nowhere', { base: service.baseUrl, headers: html })
    const missing = idOf(await page.text())
    assert.ok(lines.some((line) => (JSON.parse(line) as { reqId?: string }).reqId?.startsWith(missing)))
    provider.answer = { error: 'access_denied' }
    const failed = await new Browser().follow(new URL('/auth/acme', service.baseUrl))
    provider.answer = {}
    const id = idOf(await failed.response.text())
    assert.ok(lines.some((line) => line.includes('sign-in failed') && line.includes(`"reqId":"${id}`)))
    const rows = await service.database.reader
      .selectFrom('audit_log')
      .select('action')
      .where('support_id', 'like', `${id}%`)
      .execute()
    assert.deepEqual(each(rows, 'action'), ['sign_in.failed'])
  })
})
