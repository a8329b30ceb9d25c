import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeError } from './describe-error.ts'

const systemError = (fields: object): Error => Object.assign(new Error('the message of the system'), fields)

test('EACCES is explained as a problem of the port only for listen errors', () => {
  assert.match(
    describeError(systemError({ code: 'EACCES', syscall: 'listen', port: 80 })),
    /PORT to one above/,
  )
  const file = systemError({ code: 'EACCES', syscall: 'open', path: '/data/demo-secrets.json' })
  assert.match(describeError(file), /^Cannot open \/data\/demo-secrets\.json: .*permission denied/)
})

test('explains a HOST address that this machine does not have', () => {
  const error = systemError({ code: 'EADDRNOTAVAIL', syscall: 'listen' })
  assert.match(describeError(error), /^Cannot listen on HOST and PORT/)
})

test('explains that PostgreSQL refuses the user, and errors of a name with several addresses', () => {
  const env = { DATABASE_URL: 'postgres://me:secret@db.example/gate' }
  const refused = systemError({ code: '28P01', severity: 'FATAL' })
  assert.match(
    describeError(refused, env),
    /DATABASE_URL \(postgres:\/\/\[redacted\]@db\.example\/gate\).*system/,
  )
  const attempts = [
    new Error('connect ECONNREFUSED ::1:5432'),
    new Error('connect ECONNREFUSED 127.0.0.1:5432'),
  ]
  const absent = Object.assign(new AggregateError(attempts), { code: 'ECONNREFUSED' })
  assert.match(describeError(absent, env), /ECONNREFUSED ::1:5432, connect ECONNREFUSED 127\.0\.0\.1/)
})

test('explains a server without TLS and a certificate that is not trusted, in words', () => {
  const env = { DATABASE_URL: 'postgres://me:secret@db.example/gate?sslmode=verify-full' }
  for (const error of [
    new Error('The server does not support SSL connections'),
    systemError({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    systemError({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
    systemError({ code: 'CERT_HAS_EXPIRED' }),
  ]) {
    const text = describeError(error, env)
    assert.match(text, /^The database of DATABASE_URL .*db\.example.* cannot be used: .*sslrootcert=FILE/)
    assert.doesNotMatch(text, /\n +at /)
  }
})

test('an unexpected error is shown with its stack', () => {
  assert.match(describeError(new TypeError('x is not a function')), /TypeError: x is not a function\n +at /)
  assert.match(describeError(systemError({ errcode: 1, code: 'ERR_SQLITE_ERROR' })), /\n +at /, 'our own SQL')
})
