import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Browser, each, engines, rowsOf, started, startOAuthProvider } from '#test/harness/index.ts'
import { serviceEnvironment, startTestService } from '#test/harness/service.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'
import { appTokens, signIn, spa, whoAmI } from '../login/harness.ts'
import { type Ended, postern as runPostern } from './command.ts'

describe('postern users, postern keys rotate-signing', () => {
  const folder = temporaryFolder()
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const config = { login: { clients: [spa] } }
    return startTestService(engines[0]!, { env: provider.env('ACME'), config })
  })

  /** Runs a command beside the service, as an operator does. */
  const postern = (...args: string[]): Promise<Ended> =>
    runPostern(folder, args, serviceEnvironment(service.databaseUrl))
  async function signedIn(id: string): Promise<Browser> {
    const browser = new Browser()
    provider.profile = { id, displayName: id }
    await signIn(service, browser)
    return browser
  }

  test('block and unblock, by provider and id or by our id', async () => {
    const browser = await signedIn('eve')
    const { id } = (await whoAmI(service, browser))!
    const blocked = await postern('users', 'block', 'acme:eve')
    assert.equal(blocked.stdout, `${id} (eve) is blocked\n`)
    assert.equal(await whoAmI(service, browser), undefined)
    assert.match(await signIn(service, new Browser()), /account-blocked/)
    assert.equal((await postern('users', 'unblock', id)).code, 0)
    assert.ok(await whoAmI(service, await signedIn('eve')))
    const rows = await rowsOf(service, 'audit_log', { user_id: id, actor: 'cli' }, 'id')
    assert.deepEqual(each(rows, 'action'), ['user.blocked', 'user.unblocked'])
  })

  test('role', async () => {
    const browser = await signedIn('mia')
    assert.match((await postern('users', 'role', 'acme:mia', 'admin')).stdout, /has the role admin/)
    assert.equal(await whoAmI(service, browser), undefined)
    assert.equal((await whoAmI(service, await signedIn('mia')))!.role, 'admin')
    const taken = await postern('users', 'role', 'acme:mia', 'user')
    assert.match(taken.stdout, /has the role user/, 'also from the last admin: this is the way out')
  })

  test('the data of a user is written without credentials, then deleted', async () => {
    const browser = await signedIn('kim')
    const { id } = (await whoAmI(service, browser))!
    const { stdout } = await postern('users', 'export', 'acme:kim')
    const data = JSON.parse(stdout) as Record<string, Record<string, unknown>[]>
    assert.deepEqual(Object.keys(data), [
      'account',
      'identities',
      'invitations',
      'sessions',
      'hosts',
      'apps',
      'consents',
      'providerTokens',
      'audit',
    ])
    assert.equal(data['account']![0]!['id'], id)
    assert.equal(data['identities']![0]!['provider_id'], 'kim')
    assert.equal(data['sessions']!.length, 1)
    assert.match(String(data['sessions']![0]!['created_at']), /^\d{4}-\d\d-\d\dT/)
    const actions = new Set(data['audit']!.map(({ action }) => action))
    assert.ok(actions.has('user.signed_in') && actions.has('user.exported'))
    assert.doesNotMatch(stdout, /hash|token"/)
    assert.equal((await postern('users', 'delete', 'acme:kim')).stdout, `${id} is deleted\n`)
    assert.equal(await whoAmI(service, browser), undefined)
    assert.match((await postern('users', 'delete', id)).stderr, /there is no user/)
  })

  test('sessions are listed and ended, one or all', async () => {
    const [first, second] = [await signedIn('sam'), await signedIn('sam')]
    const listed = await postern('users', 'sessions', 'acme:sam')
    const ids = [...listed.stdout.matchAll(/^[0-9a-f-]{36}/gm)].map(([id]) => id)
    assert.equal(ids.length, 2)
    assert.match((await postern('users', 'end-sessions', 'acme:sam', ids[0]!)).stdout, /is ended/)
    assert.equal(await whoAmI(service, second), undefined)
    assert.ok(await whoAmI(service, first))
    assert.match((await postern('users', 'end-sessions', 'acme:sam')).stdout, /^1 session of /)
    assert.equal(await whoAmI(service, first), undefined)
    assert.equal((await postern('users', 'end-sessions', 'acme:sam', ids[0]!)).code, 1)
    const rows = await rowsOf(service, 'audit_log', { actor: 'cli', action: 'session.revoked' }, 'id')
    assert.deepEqual(each(rows, 'target'), [`session:${ids[0]!}`, null])
  })

  test('errors have messages', async () => {
    for (const [expected, ...args] of [
      [1, 'users', 'block', 'acme:nobody'],
      [1, 'users', 'block', 'nobody'],
      [2, 'users', 'role', 'acme:mia', 'root'],
    ] as const) {
      const { code, stderr } = await postern(...args)
      assert.equal(code, expected)
      assert.match(stderr, /there is no user|Allowed choices are user, admin/)
      assert.doesNotMatch(stderr, /\bat /)
    }
  })

  test('rotate-signing publishes the next key; with --now older keys are withdrawn and their tokens refused at once', async () => {
    const body = await appTokens(service)
    const headers = { authorization: `Bearer ${String(body['access_token'])}` }
    const status = async (): Promise<number> => (await service.fetch('/auth/session', { headers })).status
    const inDatabase = async (): Promise<number> => {
      const now = Date.now()
      const rows = await service.database.reader.selectFrom('signing_keys').selectAll().execute()
      return rows.filter(({ retires_at: end }) => end === null || end > now).length
    }
    assert.equal(await inDatabase(), 1)
    assert.match((await postern('keys', 'rotate-signing')).stdout, /is published and signs from/)
    assert.equal(await inDatabase(), 2)
    assert.equal(await status(), 200)
    assert.match((await postern('keys', 'rotate-signing', '--now')).stdout, /signs from now on/)
    assert.equal(await status(), 401)
    assert.equal(await inDatabase(), 1)
    const ours = await rowsOf(service, 'audit_log', { actor: 'cli' }, 'id')
    const rows = ours.filter(({ action }) => action.startsWith('signing_key.'))
    assert.deepEqual(each(rows, 'action').toSorted(), [
      'signing_key.rotated',
      'signing_key.rotated',
      'signing_key.withdrawn',
      'signing_key.withdrawn',
    ])
    for (const { target } of rows) assert.match(target!, /^signing-key:[\w-]{43}$/)
    assert.equal(new Set(each(rows, 'target')).size, 3, 'three keys: the first, the planned, the last')
  })
})

const folder = temporaryFolder()

test('an admin by a group of the configuration module stays one, and the command says so', async (t) => {
  const provider = await startOAuthProvider()
  t.after(() => provider.close())
  const login = { providers: { acme: { groupsClaim: 'groups', roles: { admin: ['ops'] } } } }
  const module = join(folder, 'postern.config.ts')
  const service = await startTestService(engines[0]!, { env: provider.env('ACME'), config: { login } })
  t.after(() => service.close())
  provider.profile = { id: 'olga', displayName: 'Olga', groups: ['ops'] }
  const browser = new Browser()
  await signIn(service, browser)
  assert.equal((await whoAmI(service, browser))!.role, 'admin')
  const role = async (): Promise<string> => {
    const { stdout, stderr } = await runPostern(folder, ['users', 'role', 'acme:olga', 'user'], {
      ...provider.env('ACME'),
      ...serviceEnvironment(service.databaseUrl),
      POSTERN_CONFIG: module,
    })
    return stdout || stderr
  }
  writeFileSync(module, `export default ${JSON.stringify({ login })}\n`)
  assert.match(await role(), /in a group whose members are admins/)
  assert.equal((await whoAmI(service, browser))!.role, 'admin', 'nothing has changed')
  // Without its secret the provider could not be used, nor its groups be known.
  const broken = { providers: { acme: { ...login.providers.acme, issuer: 'no address' } } }
  writeFileSync(module, `export default ${JSON.stringify({ login: broken })}\n`)
  assert.match(await role(), /issuer/i)
  writeFileSync(module, 'export default nothing\n')
  assert.match(await role(), /could not be loaded/)
})
