// The rules of .oxlintrc.json about who may import whom, proved on files that break them. A rule that is taken out of
// the configuration fails here: the forbidden pairs are listed again, from the design, and not read from it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { before, describe, test } from 'node:test'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const MODULES = ['login', 'oauth2', 'forward-auth', 'receiving', 'emitting', 'listing', 'alerts']
const LOWER_MODULES = ['accounts', 'events']
const BASE = [
  'storage',
  'crypto',
  'config',
  'http',
  'network',
  'paging',
  'telemetry',
  'json',
  'runtime',
  'errors.ts',
]
const TOP = [
  'service.ts',
  'service-app.ts',
  'create-modules.ts',
  'main.ts',
  'index.ts',
  'define-config.ts',
  'cli',
  'demo',
  'diagnostics',
  'mounting',
]
const EVERYTHING = [...MODULES, ...LOWER_MODULES, ...BASE, ...TOP, 'client', 'another.ts']

/** For each part of src: what it must not import. Whatever is not named here is allowed. */
const FORBIDDEN: Record<string, string[]> = {
  ...Object.fromEntries(MODULES.map((module) => [module, [...MODULES, ...TOP]])),
  accounts: [...MODULES, 'events', ...TOP],
  events: [...MODULES, 'accounts', ...TOP],
  ...Object.fromEntries(BASE.map((part) => [part, [...MODULES, ...LOWER_MODULES, ...TOP]])),
  storage: [...MODULES, ...LOWER_MODULES, 'config', 'http', 'json', 'network', 'paging', 'client', ...TOP],
  client: [...MODULES, ...TOP],
  // A new file of src is no exception.
  'another.ts': [...MODULES, ...TOP],
  ...Object.fromEntries(TOP.map((part) => [part, []])),
}

const FORMS = {
  value: (path: string, n: number) => `import { value as value${n} } from '${path}'`,
  type: (path: string, n: number) => `import type { Kind as Kind${n} } from '${path}'`,
  'export from': (path: string) => `export * from '${path}'`,
  dynamic: (path: string) => `await import('${path}')`,
}

interface Diagnostic {
  code: string
  filename: string
  labels: { span: { line: number } }[]
}

const root = join(import.meta.dirname, '..', '..')
const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint')
const folder = temporaryFolder()

function write(path: string, text: string): void {
  mkdirSync(join(folder, dirname(path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function lint(): Diagnostic[] {
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '--format=json'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64e6,
  })
  assert.ok(stdout.startsWith('{'), `oxlint did not report: ${stdout}${stderr}`)
  return (JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics
}

const isFile = (part: string) => part.endsWith('.ts')
const moduleOf = (part: string) => (isFile(part) ? `src/${part}` : `src/${part}/thing.ts`)
/** A folder imports from its top and from deeper down; a file of src is its own importer. */
const importersIn = (part: string) =>
  isFile(part) ? [`src/${part}`] : [`src/${part}/importer.ts`, `src/${part}/below/importer.ts`]

function pathFrom(importer: string, imported: string): string {
  const path = relative(dirname(importer), imported)
  return path.startsWith('.') ? path : `./${path}`
}

const imports: { importer: string; line: number; from: string; to: string; form: string }[] = []
let diagnostics: Diagnostic[]

before(() => {
  copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
  const compilerOptions = {
    module: 'nodenext',
    target: 'esnext',
    noEmit: true,
    allowImportingTsExtensions: true,
  }
  write(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: [] }, include: ['src'] }),
  )
  write('package.json', JSON.stringify({ type: 'module' }))

  for (const part of EVERYTHING) write(moduleOf(part), 'export const value = 1\nexport type Kind = number\n')
  for (const from of EVERYTHING) {
    for (const importer of importersIn(from)) {
      const lines: string[] = []
      for (const to of EVERYTHING.filter((part) => part !== from)) {
        for (const [form, source] of Object.entries(FORMS)) {
          imports.push({
            importer,
            line: lines.push(source(pathFrom(importer, moduleOf(to)), lines.length)),
            from,
            to,
            form,
          })
        }
      }
      write(importer, `${lines.join('\n')}\n`)
    }
  }
  write('src/login/hidden.ts', `export type Hidden = import('../receiving/thing.ts').Kind\n`)
  write('src/listing/first.ts', `import { second } from './second.ts'\nexport const first = () => second\n`)
  write('src/listing/second.ts', `import { first } from './first.ts'\nexport const second = () => first\n`)
  diagnostics = lint()
})

describe('import rules', () => {
  for (const from of EVERYTHING) {
    test(`${from} imports only allowed modules`, () => {
      const reported = new Set(
        diagnostics
          .filter(({ code }) => code === 'eslint(no-restricted-imports)')
          .map(({ filename, labels }) => `${filename}:${labels[0]?.span.line}`),
      )
      const wrong = imports.flatMap(({ importer, line, to, form, ...pair }) => {
        const isReported = reported.has(`${importer}:${line}`)
        if (pair.from !== from || isReported === FORBIDDEN[from]?.includes(to)) return []
        return `${importer}: the ${form} import of ${to} was ${isReported ? 'reported' : 'not reported'}`
      })
      assert.deepEqual(wrong, [])
    })
  }
})

const codesIn = (file: string) =>
  diagnostics.filter(({ filename }) => filename === file).map(({ code }) => code)

test('there are no import types, which the rules would not see', () => {
  assert.deepEqual(codesIn('src/login/hidden.ts'), ['typescript(consistent-type-imports)'])
})

test('modules do not import each other in a circle', () => {
  assert.deepEqual(codesIn('src/listing/first.ts'), ['import(no-cycle)'])
  assert.deepEqual(codesIn('src/listing/second.ts'), ['import(no-cycle)'])
})
