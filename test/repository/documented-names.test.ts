// The settings, problems, calls and files that prose names exist. That all which exist are described is the work of `npm run docs`:
// docs/reference/ is made from the code, and `npm run check` compares it.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { companions } from '../../src/config/providers.ts'
import { settings } from '../../src/config/settings.ts'
import { problems } from '../../src/errors.ts'
import { scopes } from '../../src/http/access/principal.ts'
import { presets } from '../../src/login/providers/presets.ts'
import { allPages, blocksOf, root } from './documented/blocks.ts'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const text = new Map(allPages.map((page) => [page, read(page)]))

interface Mention {
  page: string
  name: string
}

/** What a pattern finds in all pages; its first group, if it has one. */
const find = (pattern: RegExp): Mention[] =>
  [...text].flatMap(([page, all]) =>
    [...all.matchAll(pattern)].map(([whole, name]) => ({ page, name: name ?? whole })),
  )

const listed = (mentions: Mention[]): string[] =>
  [...new Set(mentions.map(({ page, name }) => `${page}: ${name}`))].toSorted()

/** The sources of everything that reads variables. */
const code = globSync(
  '{src,scripts,test,bench,packages,examples,deploy,site,.ci}/**/*.{ts,mts,mjs,tsx,py,go,rb,sh,yaml,yml,cfg,html,env,service,toml}',
  { cwd: root, exclude: ['**/node_modules/**', '**/dist/**', 'test/repository/documented-names.test.ts'] },
)
  .map(read)
  .join('\n')

test('each variable that a page sets or names is read by something', () => {
  const known = new Set<string>(Object.values(settings).map(({ env }) => env))
  const endings = [
    ...Object.keys(companions),
    ...Object.values(presets).flatMap((one) => Object.keys(one.settings ?? {})),
  ]
  const exists = ({ page, name }: Mention): boolean =>
    // Those of the product that the reader comes from.
    page.startsWith('docs/migrating/') ||
    known.has(name) ||
    known.has(name.replace(/_FILE$/, '')) ||
    endings.some((ending) => new RegExp(`^[A-Z][A-Z0-9_]*_${ending}(_FILE)?$`).test(name)) ||
    // A program of the page, or of this checkout, reads it.
    blocksOf(page).some((block) =>
      new RegExp(String.raw`(?:env\.|env\['|environ\W+|\$\{?)${name}\b`).test(block.text),
    ) ||
    new RegExp(String.raw`\b${name}\b`).test(code)
  const mentions = find(/(?:`|^ *(?:export )?)([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?==|`)/gm)
  assert.ok(mentions.length > 300, `${mentions.length} variables`)
  assert.deepEqual(listed(mentions.filter((one) => !exists(one))), [])
})

test('each problem that a page names exists', () => {
  const mentions = find(/(?:\b[45]\d\d,? `|\/problems\/|"code": ?")([a-z]+(?:-[a-z]+)+)(?=[`")])/g)
  assert.ok(mentions.length >= 10, `${mentions.length} problems`)
  assert.deepEqual(listed(mentions.filter(({ name }) => !Object.hasOwn(problems, name))), [])
})

/** A path with its parameters, which pages write in several ways. */
const shapeOf = (path: string): string =>
  path
    .replace(/[?#].*$/, '')
    .replaceAll(/\{[^}]*\}|\$\{[^}]*\}|:\w+|\bID\b|…/g, '*')
    .replace(/(.)\/$/, '$1')

const reference = [...read('docs/reference/http.md').matchAll(/`([A-Z]+) (\/[^`]*)`/g)]
const calls = reference.map(([, method, path]) => ({
  method,
  pattern: new RegExp(`^${shapeOf(path!).replaceAll(/[.]/g, '\\.').replaceAll('*', '[^/]+')}$`),
}))
/** Pages and files, which are no part of the API; other sources than `provider`; what a setting adds; the list of the guides. */
const others =
  /^(?:GET \/(?:(?:docs|dashboard|portal|assets|demo)(?:\/.*)?|openapi\.json|login)?|POST \/webhooks(?:\/.*)?|\w+ \/oauth2\/register(?:\/.*)?|\w+ \/orders(?:\/(?:\*|summary))?)$/
/** Pages that tell of calls of other products, or of the reader's. */
const foreign = /^docs\/(?:guides\/(?:providers|senders)\/|migrating|comparison|tutorial\/)/

test('each call that a page names exists', () => {
  const mentions = find(/`(?:curl )?((?:GET|POST|PUT|PATCH|DELETE) \/[^\s`]*)/g)
  assert.ok(mentions.length >= 150, `${mentions.length} calls`)
  const exists = ({ page, name }: Mention): boolean => {
    const [method, path = ''] = name.split(' ')
    const shape = shapeOf(path)
    return (
      foreign.test(page) ||
      others.test(`${method} ${shape}`) ||
      calls.some((call) => call.method === method && call.pattern.test(shape))
    )
  }
  assert.deepEqual(listed(mentions.filter((one) => !exists(one))), [])
})

test('each file of this checkout that a page names exists', () => {
  const mentions = find(
    /`((?:src|docs|test|deploy|examples|bench|packages|scripts|dashboard|site)\/[\w./*{},-]*[\w*}])`/g,
  )
  assert.ok(mentions.length > 20, `${mentions.length} files`)
  const projects = ['.', ...globSync('examples/*', { cwd: root })]
  const exists = ({ page, name }: Mention): boolean =>
    // Of the reader's project, as SvelteKit has it.
    (page.startsWith('docs/guides/frameworks/') && name.startsWith('src/')) ||
    [dirname(page), ...projects].some(
      (folder) =>
        existsSync(join(root, folder, name)) || globSync(name, { cwd: join(root, folder) }).length > 0,
    )
  assert.deepEqual(listed(mentions.filter((one) => !exists(one))), [])
})

test('each metric that a page or a rule for alerts names exists', () => {
  const mentions = find(/\b(postern_[a-z_]+[a-z])(?![a-z_]*\*|[\w.-]*\.(?:sql|ts|md))/g).filter(
    // Tables and roles of databases are in blocks of SQL.
    ({ name }) => /_(?:total|seconds|bytes|count|sum|bucket|info|ratio)$/.test(name),
  )
  assert.ok(mentions.length > 15, `${mentions.length} metrics`)
  const exists = ({ name }: Mention): boolean =>
    new RegExp(String.raw`\b${name.replace(/_(?:bucket|count|sum)$/, '')}\b`).test(sources) ||
    // Those that prom-client collects of the process itself.
    /^postern_(?:process|nodejs)_/.test(name)
  assert.deepEqual(listed(mentions.filter((one) => !exists(one))), [])
})

const sources = globSync('src/**/*.ts', { cwd: root }).map(read).join('\n')

test('each scope of API keys and each preset that a page names exists', () => {
  const named = find(
    /(?:`|--scope '?)((?:events|subscribers|users|clients|lists|webhooks):[a-z]+)\b/g,
  ).filter(({ page }) => !foreign.test(page))
  assert.ok(named.length > 20, `${named.length} scopes`)
  assert.deepEqual(listed(named.filter(({ name }) => !Object.hasOwn(scopes, name))), [])
  const chosen = find(/\bPRESET=([a-z-]+)|(?<=_PRESET=)[a-z-]+/g)
  assert.ok(chosen.length > 0)
  assert.deepEqual(listed(chosen.filter(({ name }) => !Object.hasOwn(presets, name))), [])
})
