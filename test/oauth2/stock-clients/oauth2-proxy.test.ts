// oauth2-proxy 7 as it is: provider `oidc`, issuer, client id, secret and redirect URL.
import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { after, test } from 'node:test'
import { Browser, freePort, listening, onOneEngine, started } from '#test/harness/index.ts'
import { until } from '../../emitting/harness.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'

/** `OAUTH2_PROXY` names the program. */
const program = process.env['OAUTH2_PROXY'] ?? 'oauth2-proxy'
const skip = spawnSync(program, ['--version']).status === 0 ? false : 'oauth2-proxy is not installed'

onOneEngine('oauth2-proxy', (engine) => {
  const stock = useStockService(engine, () => [
    { id: 'proxy', secret: webSecret, redirectUris: ['http://127.0.0.1/oauth2/callback'] },
  ])
  let proxy: ChildProcess | undefined
  const seen: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    response.end('inside')
  })
  const app = started(() => listening(server))
  after(() => void proxy?.kill())

  test('signs a person in, and passes user and e-mail address on', { skip }, async () => {
    const { service } = stock
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    let log = ''
    proxy = spawn(program, [
      '--provider=oidc',
      `--oidc-issuer-url=${service.baseUrl}`,
      '--client-id=proxy',
      `--client-secret=${webSecret}`,
      `--redirect-url=${origin}/oauth2/callback`,
      `--http-address=127.0.0.1:${port}`,
      `--upstream=${app.url}`,
      `--cookie-secret=${'c'.repeat(32)}`,
      '--cookie-secure=false',
      '--email-domain=*',
      '--skip-provider-button',
    ])
    for (const stream of [proxy.stdout, proxy.stderr])
      stream?.on('data', (chunk: Buffer) => (log += chunk.toString()))
    await until(
      () =>
        fetch(`${origin}/ping`).then(
          ({ ok }) => ok,
          () => undefined,
        ),
      'oauth2-proxy listens',
    )
    const browser = new Browser()
    const page = new URL('/page?x=1', origin)
    const callback = await toApp(service, browser, page, `${origin}/oauth2/callback`)
    const { response, url } = await browser.follow(callback)
    assert.equal(response.status, 200, log)
    assert.deepEqual([await response.text(), url.href], ['inside', page.href])
    const headers = seen.at(-1)!
    assert.equal(headers['x-forwarded-email'], 'ann@example.com')
    assert.match(String(headers['x-forwarded-user']), /^[0-9a-f-]{36}$/)
  })
})
