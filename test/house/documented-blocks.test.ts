// Blocks of data, of other programs' configuration and of other languages can be parsed. Programs in TypeScript are compiled by
// documented-programs.test.ts. A block that shows a part of a file that cannot be parsed alone says so: ```json part
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { blocksOf, pages, type Block } from './documented/blocks.ts'

const blocks = pages.flatMap(blocksOf)
const folder = mkdtempSync(join(tmpdir(), 'documented-blocks-'))
after(() => rmSync(folder, { recursive: true, force: true }))

// Dependencies of the tools in package.json; this test is not worth one of its own.
const require = createRequire(import.meta.url)
const yaml = require('yaml') as { parseAllDocuments(text: string): { errors: Error[] }[] }
const toml = require('smol-toml') as { parse(text: string): unknown }

/** A text with dots for what is left out is not complete, but its form can be checked. */
const whole = (text: string): string => text.replaceAll(/,?\s*…(?=\s*[}\]])/g, '').replaceAll(/…\s*,/g, '')

/** @returns what is wrong with a file, as the program says it */
function check(name: string, text: string, ...command: string[]): string | undefined {
  const file = join(folder, name)
  writeFileSync(file, text)
  const { status, stderr, error } = spawnSync(command[0]!, [...command.slice(1), file], { encoding: 'utf8' })
  return status === 0 ? undefined : `${error?.message ?? ''}${stderr}`.trim()
}

const parse = (read: () => unknown): string | undefined => {
  try {
    read()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const caddy = ({ text }: Block) =>
  // A block may show directives alone.
  check('Caddyfile', /^\S+ \{/m.test(text) ? text : `:80 {\n${text}\n}\n`, 'caddy', 'adapt', '--config')

const nginx = (block: Block) => {
  // Without the files and hosts of the reader.
  const text = block.text
    .replaceAll(/^\s*(?:include|ssl_certificate\w*) .*;$/gm, '')
    .replaceAll(/ ssl(?=[ ;])/g, '')
    .replaceAll(/(?<=_pass https?:\/\/)[\w.-]+/g, '127.0.0.1')
  const http = /^\s*(?:http|events|stream) \{/m.test(text) ? text : undefined
  const server = /^\s*(?:server|upstream|map|proxy_cache_path|limit_req_zone)\b/m.test(text)
    ? text
    : `server {\n${text}\n}`
  return check(
    'nginx.conf',
    http ?? `pid ${folder}/pid;\nevents {}\nhttp {\n${server}\n}\n`,
    'nginx',
    '-t',
    '-q',
    '-c',
  )
}

const languages: Record<string, (block: Block) => string | undefined> = {
  json: ({ text }) => parse(() => JSON.parse(whole(text))),
  yaml: ({ text }) => yaml.parseAllDocuments(text).flatMap(({ errors }) => errors)[0]?.message,
  toml: ({ text }) => parse(() => toml.parse(text)),
  js: ({ text }) => check('program.mjs', text, process.execPath, '--check'),
  typescript: ({ text }) => parse(() => stripTypeScriptTypes(text)),
  python: ({ text }) =>
    check('program.py', text, 'python3', '-c', 'import ast,sys; ast.parse(open(sys.argv[1]).read())'),
  go: ({ text }) =>
    check('program.go', /^package /m.test(text) ? text : `package page\n${text}`, 'gofmt', '-e', '-l'),
  ruby: ({ text }) => check('program.rb', text, 'ruby', '-c'),
  php: ({ text }) => check('program.php', text.startsWith('<?php') ? text : `<?php\n${text}`, 'php', '-l'),
  sh: ({ text }) => check('program.sh', text, 'bash', '-n'),
  caddyfile: caddy,
  nginx,
}
const aliases: Record<string, string> = {
  yml: 'yaml',
  bash: 'sh',
  shell: 'sh',
  javascript: 'js',
  py: 'python',
  rb: 'ruby',
  Caddyfile: 'caddyfile',
  caddy: 'caddyfile',
}
const programs: Record<string, string> = {
  python: 'python3',
  go: 'gofmt',
  ruby: 'ruby',
  php: 'php',
  sh: 'bash',
  caddyfile: 'caddy',
  nginx: 'nginx',
}
const isMissing = (program: string | undefined): boolean =>
  program !== undefined && spawnSync(program, ['-v']).error !== undefined

describe('blocks of documentation parse', () => {
  for (const [language, faultOf] of Object.entries(languages)) {
    const own = blocks.filter(
      ({ language: name, info }) => (aliases[name] ?? name) === language && !info.startsWith('part'),
    )
    const program = programs[language]
    const skip = isMissing(program) && `${program} is not installed`
    test(`${language}: ${own.length}`, { skip }, () => {
      const faults = own
        .map((block) => [block.from, faultOf(block)])
        .filter(([, fault]) => fault !== undefined)
      assert.deepEqual(faults, [])
    })
  }
})

test('a block that cannot be parsed is found', () => {
  const block = (text: string): Block => ({ from: '', page: '', language: '', info: '', text })
  assert.match(languages['json']!(block('{"a": }')) ?? '', /JSON/)
  assert.equal(languages['json']!(block('{"a": [1, …], …}')), undefined)
  assert.ok(languages['yaml']!(block('a: [1')))
})

test('each block names a language that is checked, or one that is only shown', () => {
  const shown =
    ' ts tsx console text mermaid sql html svelte vue css http dockerfile ini env diff java csharp rust haproxy promql'
  const known = (name: string) =>
    shown.split(' ').includes(name) || Object.hasOwn(languages, aliases[name] ?? name)
  assert.deepEqual(
    blocks.filter(({ language }) => !known(language)).map(({ from, language }) => `${from}: ${language}`),
    [],
  )
})
