import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectEnvironment } from './environment.ts'

const misspelled = (env: Record<string, string>): string[] => inspectEnvironment(env).misspelled

test('a name that differs from that of a setting by a letter is named with the setting', () => {
  const spellings = {
    DATABASE_URL: ['DATABSE_URL', 'DATABASE_URI'],
    WEBHOOK_SECRET: ['WEBHOOK_SECERT'],
    POSTERN_SECRET: ['POSTERN_SECRETS', 'POSTERN_SECERT_FILE'],
    CORS_ORIGINS: ['CORS_ORIGIN'],
  }
  for (const [meant, wrongs] of Object.entries(spellings))
    for (const wrong of wrongs)
      assert.deepEqual(misspelled({ [wrong]: 'x' }), [
        `${wrong} is not a setting and has no effect: is ${meant} meant?`,
      ])
})

test('settings, their files, providers and names of other programs are not', () => {
  const known = ['DATABASE_URL', 'POSTERN_SECRET_FILE', 'GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET']
  const ofKubernetes = ['POSTERN_SERVICE_HOST', 'POSTERN_PORT_3000_TCP']
  const ofOthers = [
    'HOSTNAME',
    'DATABASE_SSL',
    'SITE_URL',
    'HOSTS',
    'PORTS',
    'NODE_OPTIONS',
    'POSTGRES_PASSWORD',
  ]
  for (const name of [...known, ...ofKubernetes, ...ofOthers])
    assert.deepEqual(misspelled({ [name]: 'x' }), [], name)
  assert.deepEqual(misspelled({ WEBHOOK_SECERT: ' ' }), [], 'without a value')
})
