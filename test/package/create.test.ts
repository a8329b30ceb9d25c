import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { parseEnv, promisify } from 'node:util'
import { childEnvironment } from '../harness/child-environment.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { eventually } from '../receiving/harness.ts'

interface Invoice {
  id: string
  amount: number
}

// Runs with `npm test -- --package` only.
const packed = resolve(process.env['POSTERN_PACKAGE']!, '../..')
const compiler = join(import.meta.dirname, '../../node_modules/.bin/tsc')
const tarball = join(packed, 'vendor/postern.tgz')
const createPostern = join(import.meta.dirname, '../../packages/create-postern')

describe('npm create postern', () => {
  const empty = temporaryFolder()
  const project = join(empty, 'shop')
  const npm = async (cwd: string, ...args: string[]): Promise<string> => {
    const command = ['--prefer-offline', '--ignore-scripts', ...args]
    // npm finds its cache in the home directory, and a registry behind a company's proxy by the certificate that Node is told.
    const { HOME, NODE_EXTRA_CA_CERTS } = process.env
    const env = {
      ...childEnvironment(),
      ...(HOME && { HOME }),
      ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }),
    }
    return (await promisify(execFile)('npm', command, { cwd, env })).stdout
  }

  test('writes a project', async () => {
    await npm(createPostern, 'pack', '--pack-destination', empty)
    const create = join(empty, globSync('create-postern-*.tgz', { cwd: empty })[0]!)
    // As `npm create postern shop -- --yes` does, with both packages from their tarballs.
    await npm(
      empty,
      'exec',
      '--yes',
      `--package=${tarball}`,
      `--package=${create}`,
      '--',
      'create-postern',
      'shop',
      '--yes',
    )
  })

  test('the project installs and compiles, and its test passes', async () => {
    await npm(project, 'install')
    await promisify(execFile)(process.execPath, [compiler, '-p', project])
    assert.match(await npm(project, 'test'), /pass 1\n/)
  })

  test('the project handles a webhook', async () => {
    const { STRIPE_WEBHOOK_SECRET: secret = '', ADMIN_API_KEY: key = '' } = readEnvironment()
    // npm passes SIGTERM on to its shell only: the launcher must notice that.
    const service = spawn('npm', ['start'], {
      cwd: project,
      env: { ...childEnvironment(), PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise((done) => service.once('close', done))
    try {
      let log = ''
      service.stdout.on('data', (chunk) => (log += String(chunk)))
      const address = () => /"address":"([^"]+)".*"msg":"ready"/.exec(log)?.[1]
      const url = await eventually(address, 'the address of the service')
      const webhook = ['--source', 'stripe', '--type', 'invoice.paid', '--secret', secret]
      const data = ['--data', '{"id":"in_1","amount_paid":4200}']
      await npm(project, 'exec', '--', 'postern', 'send', `${url}/webhooks/stripe`, ...webhook, ...data)
      const invoices = async (): Promise<Invoice[]> => {
        const answer = await fetch(`${url}/invoices`, { headers: { authorization: `Bearer ${key}` } })
        return ((await answer.json()) as { data: Invoice[] }).data
      }
      const recorded = async () => (await invoices())[0]
      const { id, amount } = await eventually(recorded, 'an invoice')
      assert.deepEqual([id, amount], ['in_1', 4200])
    } finally {
      service.kill('SIGTERM')
      await ended
    }
  })

  function readEnvironment(): NodeJS.Dict<string> {
    return parseEnv(readFileSync(join(project, '.env'), 'utf8'))
  }
})
