import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { postern } from './command.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

describe('postern init', () => {
  const root = temporaryFolder()

  test('writes a project whose secrets are generated, private, and not in version control', async () => {
    const { code, stdout, stderr } = await postern(root, ['init', 'My Shop', '--yes'])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /cd 'My Shop'\n {2}npm install\n {2}npm run dev/)
    const read = (file: string): string => readFileSync(join(root, 'My Shop', file), 'utf8')
    const manifest = JSON.parse(read('package.json')) as Record<'scripts' | 'dependencies', object>
    assert.deepEqual(Object.keys(manifest.scripts), ['dev', 'start', 'test', 'doctor'])
    // No registry has the package.
    assert.deepEqual(manifest, {
      ...manifest,
      name: 'my-shop',
      dependencies: { postern: 'file:vendor/postern.tgz' },
    })
    for (const name of ['postern', 'postern-client'])
      assert.ok(existsSync(join(root, `My Shop/vendor/${name}.tgz`)), name)
    assert.match(read('.env'), /^POSTERN_SECRET=[\w-]{43}$/m)
    assert.equal(statSync(join(root, 'My Shop/.env')).mode & 0o777, 0o600)
    assert.match(read('.gitignore'), /^\.env$/m)
    assert.match(read('postern.config.ts'), /sameAddress: 'offer'/)
    assert.match(read('.env.example'), /^POSTERN_SECRET=$/m)
  })

  test('the configuration, the migration and the settings of the project are used by other commands', async () => {
    await postern(root, ['init', 'used', '--yes'])
    const folder = join(root, 'used')
    const migrated = await postern(folder, ['migrate'])
    assert.equal(migrated.stdout, 'initial applied\n0001-invoices applied\n')
    const again = await postern(folder, ['migrate', '--dry-run'])
    assert.equal(again.stdout, 'the database is up to date\n')
    assert.ok(existsSync(join(folder, 'data/postern.db')))
  })

  test('--empty leaves the sample out, and the service starts with what is left', async () => {
    await postern(root, ['init', 'bare', '--yes', '--empty'])
    const folder = join(root, 'bare')
    assert.ok(!existsSync(join(folder, 'migrations')))
    assert.ok(!existsSync(join(folder, 'postern.test.ts')))
    const checked = await postern(folder, ['config', 'check'])
    assert.equal(checked.code, 0, checked.stderr)
    assert.equal((await postern(folder, ['migrate'])).stdout, 'initial applied\n')
  })

  test('a folder with files and a name that npm refuses are errors', async () => {
    writeFileSync(join(root, 'file'), '')
    const full = await postern(root, ['init', '.', '--yes', '--name', 'shop'])
    assert.equal(full.code, 1)
    assert.match(full.stderr, /is not empty \(.+\): name a new or an empty folder/)
    const named = await postern(root, ['init', 'other', '--yes', '--name', 'A Shop'])
    assert.match(named.stderr, /A Shop is not a package name/)
  })

  test('on a machine with an old Node.js it names the one of the checkout', async (t) => {
    if (process.env['POSTERN_PACKAGE'])
      return t.skip('a checkout has a Node.js of its own, the package has none')
    const env = { npm_config_user_agent: 'npm/10.8.2 node/v20.20.2 linux x64' }
    const { stdout } = await postern(root, ['init', 'old', '--yes'], env)
    assert.match(stdout, /this machine has 20\.20\.2.*\n\n {2}export PATH="[^\n]+:\$PATH"\n\n {2}cd old\n/)
  })

  test('--env-file names other settings, and a missing file is an error', async () => {
    writeFileSync(join(root, 'other.env'), 'DATABASE_URL=sqlite:other.db\n')
    assert.equal((await postern(root, ['--env-file', 'other.env', 'migrate'])).code, 0)
    assert.ok(existsSync(join(root, 'other.db')))
    const missing = await postern(root, ['--env-file', 'nothing.env', 'migrate'])
    // Node.js reads the option by itself, before the program runs.
    assert.notEqual(missing.code, 0)
    assert.match(missing.stderr, /nothing\.env/)
  })

  test('the environment wins over the file', async () => {
    const env = { DATABASE_URL: 'sqlite:environment.db' }
    assert.equal((await postern(root, ['--env-file', 'other.env', 'migrate'], env)).code, 0)
    assert.ok(existsSync(join(root, 'environment.db')))
  })
})
