import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { ConfigurationError, readEnvironment, redacted, redactedDatabaseUrl } from './environment.ts'

const production = {
  NODE_ENV: 'production',
  BASE_URL: 'https://gate.example.com',
  POSTERN_SECRET: 'a-master-secret-of-32-bytes-or-more',
  WEBHOOK_SECRET: 'a-webhook-secret',
}

const faults = (env: Record<string, string>): readonly string[] => {
  try {
    readEnvironment(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigurationError)
    return error.faults
  }
}

test('without settings: demo mode on loopback, with private networks allowed', () => {
  const configuration = readEnvironment({})
  assert.equal(configuration.production, false)
  assert.equal(configuration.host, '127.0.0.1')
  assert.equal(configuration.port, 3000)
  assert.equal(configuration.allowPrivateNetwork, true)
  assert.equal(configuration.logFormat, 'readable')
})

test('production starts with all required settings, and does not allow private networks', () => {
  const { allowPrivateNetwork, logFormat } = readEnvironment(production)
  assert.deepEqual([allowPrivateNetwork, logFormat], [false, 'json'])
})

test('all wrong settings are reported at once, without their values', () => {
  const found = faults({
    PORT: '80x',
    POSTERN_SECRET: 'too-short',
    EMIT_RETRY_SCHEDULE: '0,-5',
    BASE_URL: 'https://a.example/path?query',
    GITHUB_CLIENT_ID: 'y',
    GITHUB_TOKEN_URL: 'ftp://z.example',
  })
  assert.deepEqual(
    found.map((fault) => fault.split(' ')[0]),
    ['PORT', 'BASE_URL', 'POSTERN_SECRET', 'EMIT_RETRY_SCHEDULE', 'GITHUB_TOKEN_URL'],
  )
  assert.ok(!found.join().includes('too-short'))
})

test('demo mode refuses to listen on an address that is not loopback', () => {
  for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'localhost.evil.example'])
    assert.match(faults({ HOST }).join(), /^HOST .* NODE_ENV=production/)
})

test('with a public BASE_URL no list is open, in production or not', () => {
  for (const BASE_URL of ['https://gate.example.com', 'http://10.0.0.1:3000', 'http://127.0.0.1.nip.io'])
    assert.equal(readEnvironment({ BASE_URL, NODE_ENV: 'test' }).demo, false, BASE_URL)
  for (const BASE_URL of ['http://localhost:3000', 'http://[::1]:3000', 'https://127.0.0.2'])
    assert.equal(readEnvironment({ BASE_URL }).demo, true, BASE_URL)
  assert.equal(readEnvironment({}).demo, true)
  assert.equal(readEnvironment(production).demo, false)
})

test('an unknown NODE_ENV is refused, because it would open the lists', () => {
  for (const NODE_ENV of ['prod', 'Production', 'staging', 'production2'])
    assert.deepEqual(
      faults({ NODE_ENV, BASE_URL: 'https://gate.example.com', HOST: '0.0.0.0' }),
      ['NODE_ENV is wrong: expected one of development, test, production'],
      NODE_ENV,
    )
  for (const NODE_ENV of ['', ' ', 'development', 'test'])
    assert.equal(readEnvironment({ NODE_ENV }).production, false)
  assert.equal(readEnvironment({ ...production, NODE_ENV: ' production ' }).production, true)
  assert.ok(faults({ NODE_ENV: ' production ' }).length > 0, 'and then nothing may be missing')
})

test('an empty value counts as absent', () => {
  assert.equal(readEnvironment({ PORT: '', HOST: ' ' }).port, 3000)
})

test('schedules and time-outs are read in seconds', () => {
  const { emitRetrySchedule, emitTimeout } = readEnvironment({
    EMIT_RETRY_SCHEDULE: '0, 0.5,5',
    EMIT_TIMEOUT: '2',
  })
  assert.deepEqual(emitRetrySchedule, [0, 500, 5000])
  assert.equal(emitTimeout, 2000)
})

test('variables with the same prefix configure one provider', () => {
  const { providers } = readEnvironment({
    ACME_CLIENT_ID: 'id',
    ACME_CLIENT_SECRET: 'secret',
    ACME_ISSUER: 'https://id.acme.example',
    SPA_CLIENT_ID: 'public',
    SPA_PKCE: 'off',
    SPA_AUTH_PARAMS: 'prompt=consent&max_age=0',
    SPA_TENANT: 'organizations',
    LATER_CLIENT_SECRET: 'the id may be in the configuration module',
  })
  assert.deepEqual(providers, [
    { name: 'acme', clientId: 'id', clientSecret: 'secret', issuer: 'https://id.acme.example' },
    {
      name: 'spa',
      clientId: 'public',
      pkce: false,
      authParams: { prompt: 'consent', max_age: '0' },
      own: { TENANT: 'organizations' },
    },
    { name: 'later', clientSecret: 'the id may be in the configuration module' },
  ])
  assert.match(faults({ [`A${'B'.repeat(63)}_CLIENT_ID`]: 'x' }).join(), /cannot be the name/)
})

test('the log line at the start shows no secret', () => {
  const shown = JSON.stringify(
    redacted(
      readEnvironment({
        ...production,
        DATABASE_URL: 'postgres://user:pass@db.example/postern?password=also',
        ADMIN_API_KEY: 'pk_0123456789abcdef',
        GITHUB_CLIENT_ID: 'id',
        GITHUB_CLIENT_SECRET: 'hush',
      }),
    ),
  )
  assert.doesNotMatch(redactedDatabaseUrl('postgres://u:p@a@s@db.example/x?y'), /u:|p@|a@s|y$/)
  for (const secret of [
    production.POSTERN_SECRET,
    production.WEBHOOK_SECRET,
    'user:pass',
    'also',
    'pk_0123456789abcdef',
    'hush',
  ])
    assert.ok(!shown.includes(secret), secret)
  assert.match(shown, /db\.example/)
})

test('an invalid PostgreSQL address is refused without showing it, and DATABASE_SESSION_URL needs PostgreSQL', () => {
  for (const name of ['DATABASE_URL', 'DATABASE_SESSION_URL']) {
    const postgres = { DATABASE_URL: 'postgres://h/db' }
    const url = 'postgres://u:hush@h1,h2/db?target_session_attrs=writable'
    const [fault, ...others] = faults({ ...postgres, [name]: url })
    assert.match(
      fault!,
      new RegExp(`^${name} is wrong: the parameter target_session_attrs must be one of any, read-write`),
    )
    assert.deepEqual(others, [])
    assert.match(
      faults({ ...postgres, [name]: 'postgres://u:hu#sh@h/db' }).join(),
      /percent-encode reserved characters in the user name and password$/,
    )
  }
  assert.match(faults({ DATABASE_SESSION_URL: 'sqlite:x.db' }).join(), /begins with postgres:/)
  assert.match(
    faults({ DATABASE_SESSION_URL: 'postgres://h/db' }).join(),
    /needs a DATABASE_URL of PostgreSQL/,
  )
  const shown = redacted(
    readEnvironment({
      ...production,
      DATABASE_URL: 'postgres://u:hush@h1:5432,h2:5433/db?target_session_attrs=primary&password=hush',
      DATABASE_SESSION_URL: 'postgres://u:hush@h3/db',
    }),
  )
  assert.equal(shown['DATABASE_URL'], 'postgres://[redacted]@h1,h2:5433/db?target_session_attrs=primary')
  assert.equal(shown['DATABASE_SESSION_URL'], 'postgres://[redacted]@h3/db')
})

test('origins are accepted as browsers write them, and over http for loopback only', () => {
  const taken = 'https://app.example.com, https://b.example:8443,http://localhost:5173,http://127.0.0.1:3000'
  assert.deepEqual(readEnvironment({ CORS_ORIGINS: taken }).corsOrigins, [
    'https://app.example.com',
    'https://b.example:8443',
    'http://localhost:5173',
    'http://127.0.0.1:3000',
  ])
  assert.deepEqual(readEnvironment({}).corsOrigins, [])
  for (const CORS_ORIGINS of [
    '*',
    'null',
    'https://*.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://APP.example.com',
    'https://app.example.com:443',
    'http://app.example.com',
    'https://me@app.example.com',
    'app.example.com',
    'file:///x',
    'https://a.example https://b.example',
  ])
    assert.match(faults({ CORS_ORIGINS }).join(), /^CORS_ORIGINS is wrong: expected origins/, CORS_ORIGINS)
})

test('production accepts http for a loopback address', () => {
  for (const BASE_URL of ['http://127.0.0.1:3000', 'http://localhost:8080', 'http://[::1]:3000'])
    assert.deepEqual(faults({ ...production, BASE_URL }), [], BASE_URL)
  for (const BASE_URL of ['http://10.0.0.1:3000', 'http://gate.internal', 'http://localhost.example.com'])
    assert.match(
      faults({ ...production, BASE_URL, ALLOW_PRIVATE_NETWORK: 'true' }).join(),
      /^BASE_URL/,
      BASE_URL,
    )
})

test('a weak secret that is rotated out is not refused, and demo mode refuses no secret', () => {
  const weak = { POSTERN_SECRET: 'a'.repeat(32), WEBHOOK_SECRET: 'b' }
  assert.deepEqual(
    faults({
      ...production,
      POSTERN_SECRET: `${production.POSTERN_SECRET},${weak.POSTERN_SECRET}`,
      WEBHOOK_SECRET: `${production.WEBHOOK_SECRET},${weak.WEBHOOK_SECRET}`,
    }),
    [],
  )
  assert.deepEqual(faults(weak), [])
})

test('a program that does not catch the error shows each fault once', () => {
  assert.equal(
    inspect(new ConfigurationError(['BASE_URL is missing'])).match(/BASE_URL is missing/g)?.length,
    1,
  )
})

test('a wrong flag is told the values that the documentation names', () => {
  assert.deepEqual(faults({ RATE_LIMIT: 'maybe' }), [
    'RATE_LIMIT is wrong: expected on or off, or true or false',
  ])
})
