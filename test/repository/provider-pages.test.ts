// Each sign-in preset has a page in docs/guides/providers/. Variables, failures and settings in its hand-written parts exist in the code.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { companions, readProviders } from '../../src/config/providers.ts'
import { settings } from '../../src/config/settings.ts'
import { isFailureCode } from '../../src/login/flow/failures.ts'
import { mergeProviders } from '../../src/login/config.ts'
import type { Preset } from '../../src/login/providers/preset.ts'
import { presets } from '../../src/login/providers/presets.ts'
import { resolveProvider } from '../../src/login/providers/resolve-provider.ts'
import { each } from '#test/harness/fields.ts'

const guides = join(import.meta.dirname, '../../docs/guides')
const pages = globSync('providers/*.md', { cwd: guides })
const read = (page: string): string => readFileSync(join(guides, page), 'utf8')
const general = 'providers/any-other.md'
const index = read('providers.md')

const kindOf = (preset: Preset): string =>
  preset.endpoints((key) => key).issuer === undefined ? 'OAuth 2.0' : 'OpenID Connect'

/** The inline code and the code blocks, in which variables and codes are written. */
function codeIn(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```\w*\n([^]*?)^ *```$/gm)]
  const prose = text.replaceAll(/^ *```\w*\n[^]*?^ *```$/gm, '')
  return [...blocks, ...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!)
}

const ofService = new Set(Object.values(settings).map(({ env }): string => env))

/** What is no variable of the service, of a provider named `prefixes`, or of any provider. */
function unknownVariables(text: string, prefixes: Readonly<Record<string, Preset | undefined>>): string[] {
  // The keys of `settings` in a configuration module are checked by themselves.
  const codes = codeIn(text).map((code) => code.replaceAll(/settings: \{[^}]*\}/g, ''))
  const variable = /(?:<NAME>|\b[A-Z][A-Z0-9]*)(?:_[A-Z0-9]+)+\b/g
  const words = codes.flatMap((code) => code.match(variable) ?? [])
  return words.filter((word) => {
    const name = word.replace(/_FILE$/, '')
    // KC_… are those of Keycloak's own container.
    if (ofService.has(name) || name.startsWith('KC_')) return false
    return !Object.entries(prefixes).some(([prefix, preset]) => {
      const key = name.startsWith(`${prefix}_`) ? name.slice(prefix.length + 1) : ''
      return Object.hasOwn(companions, key) || Object.hasOwn(preset?.settings ?? {}, key)
    })
  })
}

/** Codes in the first column of the table of faults: words with hyphens are ours. */
function unknownFailures(text: string): string[] {
  const rows = text.slice(text.indexOf('## Troubleshooting')).matchAll(/^\| (.+?) \|/gm)
  const codes = [...rows].flatMap((row) => row[1]!.match(/(?<=`)[a-z]+(?:-[a-z]+)+(?=`)/g) ?? [])
  return codes.filter((code) => !isFailureCode(code))
}

/** The variables of the blocks of settings, later ones first in force. Those that name a file are left out. */
function variablesOf(page: string): Record<string, string> {
  const blocks = [...page.matchAll(/^ *```dotenv\n([^]*?)^ *```$/gm)].map((match) => match[1]!)
  const lines = [...blocks.join('').matchAll(/^ *([A-Z][A-Z0-9_]*)=(.+)$/gm)]
  const pairs = lines.map(([, variable, value]): [string, string] => [variable!, value!])
  return Object.fromEntries(pairs.filter(([variable]) => !variable.endsWith('_FILE')))
}

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
})

test('each preset has a page, and each page a preset', () => {
  assert.deepEqual(
    pages.map((page) => basename(page, '.md')).toSorted(),
    [...Object.keys(presets), 'any-other'].toSorted(),
  )
})

for (const [name, preset] of Object.entries(presets)) {
  const path = `providers/${name}.md`
  if (!pages.includes(path)) continue
  const page = read(path)
  const prefix = name.toUpperCase()

  test(`${path}: names only callbacks, variables and failures of the code, and cites the provider`, () => {
    for (const [, called] of page.matchAll(/\/auth\/([\w-]+)\/callback/g)) assert.equal(called, name)
    assert.deepEqual(unknownVariables(page, { [prefix]: preset }), [])
    assert.deepEqual(unknownFailures(page), [])
    assert.ok(page.includes(`](${preset.documentation[0]})`), preset.documentation[0])
  })

  test(`${path}: its settings are accepted`, () => {
    const secrets = Object.fromEntries(
      (preset.signedSecret?.needs ?? []).map((key) => [
        `${prefix}_${key}`,
        key === 'PRIVATE_KEY' ? pem : 'X',
      ]),
    )
    const faults: string[] = []
    const merged = mergeProviders(readProviders({ ...secrets, ...variablesOf(page) }, faults), {}, faults)
    assert.deepEqual(each(merged, 'name'), [name])
    const resolved = resolveProvider(merged[0]!)
    assert.deepEqual([...faults, ...('faults' in resolved ? resolved.faults : [])], [])
  })

  test(`the index leads to ${path} and names its protocol`, () => {
    const row = index.split('\n').find((line) => line.startsWith(`| [${preset.label}](${path}) |`))
    assert.ok(row, `docs/guides/providers.md has no row with [${preset.label}](${path})`)
    assert.ok(row.includes(`| ${kindOf(preset)} |`), row)
  })
}

test('the index and the page of other providers name no unknown variable and no unknown failure', () => {
  const prefixes = Object.fromEntries(
    Object.entries(presets).map(([name, preset]) => [name.toUpperCase(), preset]),
  )
  const examples = {
    '<NAME>': undefined,
    ACME: undefined,
    CORP: undefined,
    WORK: undefined,
    GITHUB_WORK: undefined,
  }
  for (const text of [index, read(general)]) {
    assert.deepEqual(unknownVariables(text, { ...prefixes, ...examples }), [])
    assert.deepEqual(unknownFailures(text), [])
  }
})
