import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectEnvironment } from './environment.ts'

const misspelled = (env: Record<string, string>): string[] => inspectEnvironment(env).misspelled

test('a name that differs from that of a setting by a letter is named with the setting', () => {
  const pairs = {
    DATABSE_URL: 'DATABASE_URL',
    DATABASE_URI: 'DATABASE_URL',
    WEBHOOK_SECERT: 'WEBHOOK_SECRET',
    POSTERN_SECRETS: 'POSTERN_SECRET',
    POSTERN_SECERT_FILE: 'POSTERN_SECRET',
    CORS_ORIGIN: 'CORS_ORIGINS',
  }
  for (const [wrong, meant] of Object.entries(pairs))
    assert.deepEqual(misspelled({ [wrong]: 'x' }), [
      `${wrong} is not a setting and has no effect: is ${meant} meant?`,
    ])
})

test('settings, their files, providers and names of other programs are not', () => {
  const env = {
    DATABASE_URL: 'sqlite:x',
    POSTERN_SECRET_FILE: '/run/secrets/x',
    GITHUB_CLIENT_ID: 'x',
    GITHUB_CLIENT_SECRET: 'x',
    HOSTNAME: 'x',
    DATABASE_SSL: 'x',
    SITE_URL: 'x',
    HOSTS: 'x',
    PORTS: 'x',
    NODE_OPTIONS: 'x',
    POSTERN_SERVICE_HOST: '10.0.0.1',
    POSTERN_PORT_3000_TCP: 'x',
    POSTGRES_PASSWORD: 'x',
    WEBHOOK_SECERT: ' ',
  }
  assert.deepEqual(misspelled(env), [])
})
