// The settings that pages show are read as the service reads them: blocks of the language dotenv, and what lines of shells set for it.
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'
import { inspectEnvironment } from '../../src/config/environment.ts'
import { mergeProviders } from '../../src/login/config.ts'
import { resolveProvider } from '../../src/login/providers/resolve-provider.ts'
import { allPages, blocksOf, type Block } from './documented/blocks.ts'
import { commandLinesOf } from './documented/commands.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

type Env = Record<string, string>

const folder = temporaryFolder()
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
writeFileSync(join(folder, 'key'), key.export({ type: 'pkcs8', format: 'pem' }))
writeFileSync(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
writeFileSync(join(folder, 'secret'), randomBytes(32).toString('base64'))

/** Values as a reader fills them in: secrets, files, and what dots stand for. */
function filledIn(env: NodeJS.Dict<string>): Env {
  const value = (name: string, text: string): string => {
    if (name.endsWith('_FILE')) return join(folder, name.includes('KEY') ? 'key' : 'secret')
    if (text.endsWith('.svg')) return join(folder, 'icon.svg')
    if (name.endsWith('SECRET') && /^…?$/.test(text)) return randomBytes(32).toString('base64')
    return (text || '…').replaceAll('…', 'x')
  }
  return Object.fromEntries(Object.entries(env).map(([name, text = '']) => [name, value(name, text)]))
}

function faultsOf(env: Env): string[] {
  const { configuration, faults } = inspectEnvironment(env)
  for (const provider of mergeProviders(configuration.providers, {}, faults)) {
    const resolved = resolveProvider(provider)
    if ('faults' in resolved) faults.push(...resolved.faults)
  }
  return faults
}

/** A block may show alternatives, with an empty line between. */
const alternatives = ({ text }: Block): Env[] => text.split(/\n\n+/).map((part) => filledIn(parseEnv(part)))

/** What a block sets is complete, or is with what its page shows above. */
function faultsOn(page: string): [string, string[]][] {
  const above: Env = {}
  const found: [string, string[]][] = []
  for (const block of blocksOf(page).filter(({ language }) => language === 'dotenv'))
    for (const env of alternatives(block)) {
      const faults = faultsOf(env)
      if (faults.length > 0 && faultsOf({ ...above, ...env }).length > 0) found.push([block.from, faults])
      Object.assign(above, env)
    }
  return found
}

test('blocks of settings are complete and right', () => {
  const count = allPages.flatMap(blocksOf).filter(({ language }) => language === 'dotenv').length
  assert.ok(count >= 45, `${count} blocks`)
  assert.deepEqual(allPages.flatMap(faultsOn), [])
})

/** What a line of a shell sets, for itself or for those after it, unless the shell computes it. */
function setIn(line: string): Env {
  const [, words = ''] =
    /^(?:export )?((?:[A-Z][A-Z0-9_]*=\S+ *)+)(?:$|(?:npx |npm run -s )?(?:postern|npm start|--))/.exec(
      line,
    ) ?? []
  const pairs = words.split(/\s+/).map((word) => /^([A-Z][A-Z0-9_]*)=(?!.*\$)(.+)$/.exec(word))
  return filledIn(Object.fromEntries(pairs.flatMap((pair) => (pair ? [[pair[1], pair[2]]] : []))))
}

// What is missing there may be in a file.
test('what lines of shells set for the service is right', () => {
  const lines = allPages
    .flatMap(blocksOf)
    .flatMap((block) => commandLinesOf(block).map((line) => ({ from: block.from, env: setIn(line) })))
    .filter(({ env }) => Object.keys(env).length > 0)
  assert.ok(lines.length >= 15, `${lines.length} lines`)
  const faults = lines.map(({ from, env }) => [
    from,
    faultsOf(env).filter((fault) => fault.includes(' is wrong')),
  ])
  assert.deepEqual(
    faults.filter(([, found]) => found!.length > 0),
    [],
  )
})

test('settings that are wrong are found', () => {
  assert.match(faultsOf({ PORT: 'x' }).join(), /PORT is wrong/)
  assert.match(faultsOf({ GITHUB_CLIENT_SECRET: 'x' }).join(), /GITHUB_CLIENT_ID is missing/)
  assert.deepEqual(setIn('BASE_URL=http://x KEY=$OTHER npx postern serve'), { BASE_URL: 'http://x' })
})
