import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { engines, started, startedService } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { launchBrowser, signIn } from './browser.ts'

const root = join(import.meta.dirname, '../..')
const cli = { id: 'cli', name: 'The command line', deviceGrant: true }

describe('examples/client/cli with a person in a browser', () => {
  const service = startedService(engines[0]!, () => ({ config: { login: { clients: [cli] } } }))
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage())
  before(async () => {
    await signIn(page, service, 'Ada')
  })

  /** Starts the command line; `shown` waits for what it prints. */
  function start() {
    const command = ['--import', './test/client/use-source.ts', 'examples/client/cli/sign-in.ts']
    const env = { ...childEnvironment(), POSTERN_URL: service.baseUrl, CLIENT_ID: cli.id }
    const example: ChildProcess = spawn(process.execPath, command, { cwd: root, env })
    let output = ''
    for (const stream of [example.stdout, example.stderr])
      stream?.on('data', (chunk) => (output += String(chunk)))
    const ended = new Promise<number | null>((done) => example.once('close', done))
    const code = (): Promise<string> =>
      eventually(() => /^Open (\S+) and enter (\S+)$/m.exec(output)?.[2], 'the code of the device')
    return { code, ended, output: () => output }
  }

  async function decide(code: string, button: 'Allow' | 'Deny'): Promise<void> {
    await page.goto(`${service.baseUrl}/device`)
    await page.getByLabel('Code').fill(code)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('The command line').first().waitFor()
    if (button === 'Allow') await page.getByRole('checkbox').check()
    await page.getByRole('button', { name: button, exact: true }).click()
  }

  test('the person types the code, allows it, and the command line knows them', async () => {
    const example = start()
    await decide(await example.code(), 'Allow')
    await page.getByText('Your device is signed in').waitFor()
    assert.equal(await example.ended, 0, example.output())
    assert.match(example.output(), /^Signed in as Ada/m)
  })

  test('the person does not allow it, and the command line ends', async () => {
    const example = start()
    await decide(await example.code(), 'Deny')
    assert.equal(await example.ended, 1)
    assert.match(example.output(), /access_denied/)
  })
})
