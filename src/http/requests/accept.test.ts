import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wantsPage } from './accept.ts'

const cases: [accept: string | undefined, isPage: boolean][] = [
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['text/*', false],
  ['application/json, text/plain, */*', false],
  // What Chromium, Firefox and Safari send when they navigate.
  [
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
    true,
  ],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/png,image/svg+xml,*/*;q=0.8', true],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
  ['text/html', true],
  ['Text/HTML ; charset=utf-8', true],
  ['text/html;q=0.1', true],
  ['text/html;q=0', false],
  ['text/html;q=0.0, */*', false],
  ['text/html;q=none', false],
  ['x-text/html', false],
  ['application/json, text/html;q=0.5', false],
  ['text/html;q=0.5, application/json', false],
  ['text/html;q=0.5, application/json;q=0.4', true],
  ['application/json;q=0.4, text/html; Q=0.5', true],
  ['application/json;q=0, text/html;q=0.1', true],
  ['application/problem+json, text/html;q=0.9', false],
  // Of an equal weight, what is named first counts, and a wildcard names nothing.
  ['text/html, application/json', true],
  ['application/json, text/html', false],
  ['text/html;q=0.7, application/json;q=0.7', true],
  ['*/*, text/html', true],
  ['text/html;q=0.5, */*', false],
  ['text/html;q=0.5, application/*;q=0.6', false],
  ['text/html;q=0.5, application/json;q=0.1, application/*', false],
]

for (const [accept, isPage] of cases)
  test(`Accept: ${accept} ${isPage ? 'gets a page' : 'gets no page'}`, () =>
    assert.equal(wantsPage({ headers: { accept } }), isPage))
