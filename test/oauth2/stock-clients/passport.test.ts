// passport-openidconnect as it is, in Express: a confidential client that sends no PKCE challenge. It has no discovery, so it
// gets the addresses of the metadata.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { before, test } from 'node:test'
import express from 'express'
import Strategy from 'passport-openidconnect'
import { Browser, listening, onOneEngine, started } from '#test/harness/index.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'

onOneEngine('passport-openidconnect', (engine) => {
  const stock = useStockService(engine)
  let origin: string
  const app = express()
  const server = started(() => listening(createServer(app)))
  before(async () => {
    origin = server.url
    const metadata = await stock.service.fetch('/.well-known/openid-configuration')
    const endpoints = (await metadata.json()) as Record<string, string>
    const strategy = new Strategy(
      {
        issuer: endpoints['issuer']!,
        authorizationURL: endpoints['authorization_endpoint']!,
        tokenURL: endpoints['token_endpoint']!,
        userInfoURL: endpoints['userinfo_endpoint']!,
        clientID: 'web',
        clientSecret: webSecret,
        callbackURL: `${origin}/callback`,
        scope: 'profile email',
        nonce: true,
      },
      (_issuer, profile, done) => done(null, profile),
    )
    // One visitor, so one session.
    const session = {}
    app.use(['/signin', '/callback'], (request, response, next) => {
      // What `passport.authenticate` does for a strategy.
      const attempt = Object.assign(Object.create(strategy) as Strategy, {
        success: (user: unknown) => response.json(user),
        fail: (info: unknown) => response.status(401).json(info ?? null),
        error: next,
        redirect: (url: string) => response.redirect(url),
      })
      attempt.authenticate(Object.assign(request, { session }))
    })
  })

  test('signs in with nonce and userinfo', async () => {
    const browser = new Browser()
    const callback = await toApp(stock.service, browser, new URL('/signin', origin), `${origin}/callback`)
    assert.equal(callback.searchParams.has('code'), true)
    const back = await browser.go(callback)
    const user = (await back.json()) as { id: string; displayName: string; emails: object[] }
    assert.equal(back.status, 200, JSON.stringify(user))
    assert.match(user.id, /^[0-9a-f-]{36}$/)
    assert.equal(user.displayName, 'Ann')
    assert.deepEqual(user.emails, [{ value: 'ann@example.com' }])
  })

  test('a callback of another browser is refused', async () => {
    const callback = new URL(`${origin}/callback?code=stolen&state=forged`)
    assert.equal((await new Browser().go(callback)).status, 401)
  })
})
