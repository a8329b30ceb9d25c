// What a person sees where a program gets problem+json.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Fastify from 'fastify'
import { sql } from 'kysely'
import { connect } from 'node:net'
import { text as read } from 'node:stream/consumers'
import { Problem } from '../../src/errors.ts'
import { sendProblemPage } from '../../src/http/pages/error-page.ts'
import { rememberLanguages } from '../../src/http/pages/page-view.ts'
import { Browser, engines, started, startedService, startOAuthProvider } from '../harness/index.ts'
import { signIn } from '../login/harness.ts'

const navigation = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
}

describe('error pages', () => {
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({
    env: {
      ...provider.env('ACME'),
      NODE_ENV: 'production',
      BASE_URL: 'http://127.0.0.1:1/gate',
      ALLOW_PRIVATE_NETWORK: 'true',
    },
  }))

  const open = async (path: string, headers: Record<string, string> = navigation) => {
    const { port } = service.app.server.address() as { port: number }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual' })
    return { response, text: await response.text() }
  }

  test('the advice of a problem names the page below the base path', async () => {
    const { text } = await open('/gate/users', { accept: 'application/json' })
    const { code, advice } = JSON.parse(text) as Record<string, string>
    assert.equal(code, 'not-signed-in')
    assert.match(advice!, /^Sign in at \/gate\/login, or /)
  })

  test('a browser gets a page with a title, what happened, a way on and the id of the request', async () => {
    const { response, text } = await open('/gate/nope/<b>')
    assert.equal(response.status, 404)
    assert.match(response.headers.get('content-type')!, /^text\/html/)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.match(response.headers.get('content-security-policy')!, /default-src 'none'.*script-src 'self'/)
    assert.match(text, /<html lang="en">/)
    assert.match(text, /<title>Page not found · Postern<\/title>/)
    assert.equal(text.match(/<h1>/g)!.length, 1)
    assert.match(text, /<main>/)
    assert.match(text, /href="\/gate\/dashboard"/)
    assert.match(
      text,
      /Reference ID: <code class="reference"><span>[\da-f]{4}<\/span><span>[\da-f]{4}<\/span><\/code>/,
    )
    assert.doesNotMatch(text, /nope|<script|<style|\sstyle=/)
    for (const [, path] of text.matchAll(/(?:href|src)="([^"]+)"/g)) assert.match(path!, /^\/gate\//)
  })

  test('a page that needs a sign-in leads there and back', async () => {
    const { response, text } = await open('/gate/audit?limit=3&q=%2F%2Fevil')
    assert.equal(response.status, 401)
    const [, href] = /href="([^"]*\/login[^"]*)"/.exec(text)!
    const target = new URL(href!.replaceAll('&amp;', '&'), 'http://127.0.0.1')
    assert.equal(target.pathname, '/gate/login')
    assert.equal(target.searchParams.get('return_to'), '/gate/audit?limit=3&q=%2F%2Fevil')
  })

  test('a program gets problem+json, whatever it accepts besides', async () => {
    const programs: Record<string, string>[] = [
      {},
      { accept: '*/*' },
      { accept: 'application/json' },
      { accept: 'application/problem+json, application/json' },
      { accept: 'application/json, text/html;q=0.5' },
    ]
    for (const headers of programs) {
      const { response, text } = await open('/gate/nope', headers)
      assert.equal(response.status, 404)
      assert.match(
        response.headers.get('content-type')!,
        /^application\/problem\+json/,
        JSON.stringify(headers),
      )
      assert.equal((JSON.parse(text) as { code: string }).code, 'not-found')
    }
  })

  test('an error of the service shows nothing internal', async () => {
    await service.database.transaction((tx) => sql`drop table posts`.execute(tx))
    const { response, text } = await open('/gate/api/posts')
    assert.equal(response.status, 500)
    assert.match(text, /<title>Something went wrong/)
    assert.match(text, /href="\/gate\/api\/posts">Try again/)
    assert.doesNotMatch(text.replaceAll('/gate/api/posts', ''), /posts|table|SQL|Error:|\.ts/i)
  })
})

describe('a deep link without a session', () => {
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({ env: provider.env('ACME') }))

  test('survives the sign-in', async () => {
    const browser = new Browser()
    const wanted = '/audit?outcome=failed&actor=%2F%2Fevil'
    const page = await browser.go(new URL(wanted, service.baseUrl), { headers: navigation })
    assert.equal(page.status, 401)
    const [, login] = /href="([^"]*\/login[^"]*)"/.exec(await page.text())!
    const html = await (await browser.go(new URL(login!.replaceAll('&amp;', '&'), service.baseUrl))).text()
    const [, start] = /href="([^"]*\/auth\/acme[^"]*)"/.exec(html)!
    assert.equal(await signIn(service, browser, start!.replaceAll('&amp;', '&')), wanted)
  })

  test('no target of a request becomes a return path to another site', async () => {
    for (const target of [
      '//evil.example/nope',
      '/\\evil.example',
      'http://evil.example/nope',
      '/%2F%2Fevil.example',
    ]) {
      const { headers } = await service.app.inject({ url: '/', headers: navigation })
      assert.equal(headers['location'], '/dashboard')
      const page = await rawRequest(service, target)
      for (const [, href] of page.matchAll(/href="([^"]+)"/g))
        assert.equal(new URL(href!.replaceAll('&amp;', '&'), service.baseUrl).origin, service.baseUrl, target)
      const back = /return_to=([^"&]*)/.exec(page)?.[1]
      if (back !== undefined) assert.match(decodeURIComponent(back), /^\/(?![/\\])/, target)
    }
  })
})

test('the page of an outage leads back to what was asked for, and never to another site', async () => {
  const app = Fastify()
  app.decorate('basePath', '')
  app.decorate('site', {
    basePath: '',
    name: 'Postern',
    plainName: 'Postern',
    logo: '/logo.svg',
    colored: false,
    links: {},
  })
  rememberLanguages(app, () => 'http://127.0.0.1')
  app.setNotFoundHandler((_request, reply) => sendProblemPage(reply.code(503), new Problem('overloaded')))
  try {
    const baseUrl = await app.listen({ port: 0, host: '127.0.0.1' })
    const linkOf = async (target: string): Promise<string | undefined> => {
      const page = await rawRequest({ baseUrl }, target)
      assert.match(page, /Temporarily unavailable/)
      return /href="([^"]+)">Try again/.exec(page)?.[1]
    }
    assert.equal(await linkOf('/orders?page=2'), '/orders?page=2')
    for (const target of ['//evil.example/', '/\\evil.example/', 'http://evil.example/'])
      assert.equal(await linkOf(target), undefined, target)
  } finally {
    await app.close()
  }
})

/** Sends a request target as it is, which `fetch` would normalize. */
async function rawRequest({ baseUrl }: { baseUrl: string }, target: string): Promise<string> {
  const { hostname, port, host } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n`)
  return read(socket)
}
