// docs/guides/operating/secrets.md says of each secret how it is rotated.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings } from '../../src/config/settings.ts'
import type { sealedColumns } from '../../src/crypto/keyring.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/guides/operating/secrets.md'), 'utf8')

/** How the page names the content of each sealed column. Pending sign-ins and stored responses expire by themselves. */
const rows: Record<keyof typeof sealedColumns, string | undefined> = {
  subscriberSecret: 'the signing secret of a subscriber',
  subscriberHeaders: 'custom headers of a subscriber',
  subscriberCredentials: 'credentials and certificates of a subscriber',
  alertTarget: "the address of an alert's webhook",
  signingKey: 'the keys that sign access tokens',
  providerAccessToken: 'provider tokens',
  providerRefreshToken: 'provider tokens',
  flowVerifier: undefined,
  flowPending: undefined,
  idempotentResponse: undefined,
}

test('each secret setting has its row', () => {
  const secret = Object.values(settings).filter((setting) => 'secret' in setting && setting.secret)
  assert.ok(secret.length > 5)
  assert.deepEqual(
    secret.map(({ env }) => env).filter((env) => !page.includes(`\`${env}\``)),
    [],
  )
})

test('each sealed value has its row', () => {
  for (const row of Object.values(rows)) if (row !== undefined) assert.ok(page.includes(`| ${row}`), row)
})
