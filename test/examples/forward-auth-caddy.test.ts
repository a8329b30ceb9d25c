// examples/forward-auth-caddy as its README says, except for ports. Needs the binary `caddy`.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { Browser, freePort, temporaryFolder } from '../harness/index.ts'
import { mainFile } from '../harness/main-file.ts'
import { reaches } from '../harness/reaches.ts'
import { eventually } from '../receiving/harness.ts'
import { startProgram, type Program } from '../harness/program.ts'
import { programEnvironment } from './shop/programs.ts'

const folder = join(import.meta.dirname, '../../examples/forward-auth-caddy')
const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
const installed = spawnSync('caddy', ['version']).status === 0

/** Hosts below `localhost` are this machine, as in browsers. */
class LocalBrowser extends Browser {
  protected override async send(url: URL, init: RequestInit): Promise<Response> {
    const call = request({
      host: '127.0.0.1',
      port: url.port,
      method: init.method ?? 'GET',
      path: url.pathname + url.search,
      headers: {
        accept: 'text/html',
        ...Object.fromEntries(new Headers(init.headers)),
        host: url.host,
        ...(init.body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
    })
    call.end(init.body instanceof URLSearchParams ? init.body.toString() : undefined)
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    const headers = new Headers()
    for (let at = 0; at < answer.rawHeaders.length; at += 2)
      headers.append(answer.rawHeaders[at]!, answer.rawHeaders[at + 1]!)
    const body = await text(answer)
    return new Response([204, 304].includes(answer.statusCode!) ? null : body, {
      status: answer.statusCode!,
      headers,
    })
  }
}

describe('examples/forward-auth-caddy', { skip: installed ? false : 'caddy is not installed' }, () => {
  const home = temporaryFolder()
  const programs: Program[] = []
  let port: string
  let wiki: string
  before(async () => {
    const free = await Promise.all([freePort(), freePort(), freePort()])
    const [gate, own, application] = free.map(String) as [string, string, string]
    port = gate
    wiki = `http://wiki.localhost:${port}`
    const adapted = (file: string): string =>
      read(file).replaceAll('8080', port).replaceAll('127.0.0.1:3000', `127.0.0.1:${own}`)
    writeFileSync(join(home, 'postern.config.ts'), adapted('postern.config.ts'))
    writeFileSync(
      join(home, 'Caddyfile'),
      adapted('Caddyfile').replaceAll('127.0.0.1:4000', `127.0.0.1:${application}`),
    )
    const env = { ...programEnvironment(home), XDG_DATA_HOME: home, XDG_CONFIG_HOME: home }
    const start = (command: [string, ...string[]], more: Record<string, string>, cwd = home): Program => {
      const program = startProgram(command, { cwd, env: { ...env, ...more } })
      programs.push(program)
      return program
    }
    const postern = start([process.execPath, mainFile, 'serve'], {
      BASE_URL: `http://localhost:${port}`,
      TRUSTED_PROXIES: '127.0.0.1',
      PORT: own,
    })
    // With the Node.js of the reader: no option of this test.
    const app = startProgram([process.execPath, 'app.mjs'], {
      cwd: folder,
      env: { ...childEnvironment(), PORT: application },
    })
    programs.push(app)
    start(['caddy', 'run'], {})
    await postern.shows(/"msg":"ready"/)
    await app.shows(/The application listens/)
    const browser = new LocalBrowser()
    const isReady = async (): Promise<boolean> =>
      (await browser.go(`http://localhost:${port}/readyz`).catch(() => undefined))?.status === 200
    await eventually(isReady, 'it is ready')
  })
  after(async () => {
    await Promise.all(programs.map((program) => program.stop()))
  })

  /** Opens the application, and signs in where that leads. */
  async function signedIn(person: string, path = '/'): Promise<LocalBrowser> {
    const browser = new LocalBrowser()
    const login = await browser.follow(wiki + path)
    assert.equal(login.url.host + login.url.pathname, `localhost:${port}/login`)
    const returnTo = encodeURIComponent(login.url.searchParams.get('return_to')!)
    const choice = await browser.follow(`http://localhost:${port}/auth/demo?return_to=${returnTo}`)
    const chosen = await browser.go(choice.url, { method: 'POST', body: new URLSearchParams({ person }) })
    const end = await browser.follow(new URL(chosen.headers.get('location')!, choice.url))
    assert.equal(end.url.href, wiki + path)
    return browser
  }

  test('a person signs in, and the application shows who it is', async () => {
    const page = await (await (await signedIn('ada', '/page?a=1')).go(`${wiki}/page?a=1`)).text()
    assert.match(page, /You are Ada Lovelace \(ada@demo\.example\)\./)
    assert.match(page, /You are at \/page\?a=1\./)
  })

  test('it answers on this machine only: demo mode behind it takes each caller for one of this machine', async () => {
    assert.equal(await reaches('127.0.0.1', Number(port)), true)
    assert.equal(await reaches('127.0.0.2', Number(port)), false)
  })

  test('a client cannot take the headers of the person away', async () => {
    const browser = await signedIn('ada')
    const answer = await browser.go(`${wiki}/`, { headers: { connection: 'close, Remote-User' } })
    assert.equal(answer.status, 400)
  })

  test('/admin/ is for admins, and /health for everyone', async () => {
    assert.equal((await (await signedIn('ada')).go(`${wiki}/admin/x`)).status, 200)
    assert.equal((await (await signedIn('grace')).go(`${wiki}/admin/x`)).status, 403)
    assert.equal(await (await new LocalBrowser().go(`${wiki}/health`)).text(), 'ok\n')
  })

  test('names that a client sends do not count, and the sign-out does', async () => {
    const browser = await signedIn('ada')
    const forged = { 'remote-name': 'Mallory', remote_name: 'Mallory' }
    const page = await (await browser.go(`${wiki}/`, { headers: forged })).text()
    assert.match(page, /You are Ada Lovelace/)
    assert.equal(
      (await new LocalBrowser().go(`${wiki}/x`, { headers: { ...forged, 'remote-user': 'u' } })).status,
      302,
    )
    const own = `http://localhost:${port}`
    const out = await browser.go(`${own}/auth/logout`, { method: 'POST', headers: { origin: own } })
    assert.equal(out.status, 303)
    assert.equal((await browser.go(`${wiki}/`)).status, 302)
  })

  test('only the proxy asks at /auth/forward', async () => {
    const headers = { 'x-forwarded-uri': '/health', 'x-forwarded-host': `wiki.localhost:${port}` }
    assert.equal(
      (await new LocalBrowser().go(`http://localhost:${port}/auth/forward`, { headers })).status,
      404,
    )
  })
})
