import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserVersion } from './browser-version.ts'

const chrome =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const known: [userAgent: string | null, version: string | undefined][] = [
  [chrome, '142'],
  [`${chrome} Edg/141.0.0.0`, '141'],
  [`${chrome} OPR/124.0.0.0`, '124'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', '140'],
  [
    'Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
    '18',
  ],
  ['curl/8.14.1', undefined],
  [null, undefined],
]

test('the version of a browser is its own, not that of its engine', () => {
  for (const [userAgent, version] of known) assert.equal(browserVersion(userAgent), version, userAgent ?? '')
})
