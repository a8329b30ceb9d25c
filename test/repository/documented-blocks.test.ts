// Blocks of data, of other programs' configuration and of other languages can be parsed. Programs in TypeScript are compiled by
// documented-programs.test.ts and documented-frameworks.test.ts. A block that shows a part of a file that cannot be parsed alone says so: ```json part
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { allPages, blocksOf, type Block } from './documented/blocks.ts'
import { markupFaultOf } from './documented/markup.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const blocks = allPages.flatMap(blocksOf)
const folder = temporaryFolder()

// Dependencies of the tools in package.json; this test is not worth one of its own.
const require = createRequire(import.meta.url)
const yaml = require('yaml') as { parseAllDocuments(text: string): { errors: Error[] }[] }
const csv = require('csv-parse/sync') as { parse(text: string): unknown }
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

/** A value, lines of values, or a part of an object. */
const json = ({ text, info }: Block) => {
  const read = (one: string) => parse(() => JSON.parse(whole(one)))
  if (info.startsWith('part')) return read(`{${text}}`)
  return read(text) && text.split('\n').map(read).find(Boolean)
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

const haproxy = ({ text }: Block) => {
  // A block may show sections alone, or the directives of one.
  const defaults = 'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1s\n  timeout server 1s\n'
  const sections = /^(?:frontend|backend|listen) /m.test(text) ? text : `backend gate\n${text}`
  const whole = text.startsWith('defaults')
    ? text
    : `${defaults}${sections}\nlisten others\n  bind 127.0.0.1:1`
  return check('haproxy.cfg', `${whole}\n`, 'haproxy', '-c', '-f')
}

/** Whether each line begins with an instruction, or goes on after a backslash. */
const dockerfile = ({ text }: Block) =>
  text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .find(
      (line) => !/^(?:#.*|\s*|(?:FROM|COPY|RUN|ENV|ARG|USER|WORKDIR|CMD|ENTRYPOINT|EXPOSE) .*)$/.test(line),
    )

/** For languages whose compilers need the SDK of a phone: brackets come in pairs, outside of texts and comments. */
const paired = ({ text }: Block) => {
  const code = text.replaceAll(/\/\/.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, '')
  const pairs: Record<string, string> = { ')': '(', ']': '[', '}': '{' }
  const open: string[] = []
  for (const [bracket] of code.matchAll(/[()[\]{}]/g))
    if (!(bracket in pairs)) open.push(bracket)
    else if (open.pop() !== pairs[bracket]) return `${bracket} closes nothing`
  return open.length === 0 ? undefined : `${open.join(' ')} is not closed`
}

const languages: Record<string, (block: Block) => string | undefined> = {
  json,
  yaml: ({ text }) => yaml.parseAllDocuments(text).flatMap(({ errors }) => errors)[0]?.message,
  toml: ({ text }) => parse(() => toml.parse(text)),
  js: ({ text }) => check('program.mjs', text, process.execPath, '--check'),
  python: ({ text }) =>
    check('program.py', text, 'python3', '-c', 'import ast,sys; ast.parse(open(sys.argv[1]).read())'),
  go: ({ text }) =>
    check('program.go', /^package /m.test(text) ? text : `package page\n${text}`, 'gofmt', '-e', '-l'),
  ruby: ({ text }) => check('program.rb', text, 'ruby', '-c'),
  php: ({ text }) => check('program.php', text.startsWith('<?php') ? text : `<?php\n${text}`, 'php', '-l'),
  sh: ({ text }) => check('program.sh', text, 'bash', '-n'),
  caddyfile: caddy,
  haproxy,
  nginx,
  dockerfile,
  csv: ({ text }) => parse(() => csv.parse(text)),
  // As systemd reads it.
  ini: ({ text }) => text.split('\n').find((line) => !/^(?:\[\w+\]|\w+ *=.*|[#;].*|\s*)$/.test(line)),
  kotlin: paired,
  swift: paired,
  dart: paired,
  html: ({ text }) => markupFaultOf(text),
  vue: ({ text }) => markupFaultOf(text),
}
const aliases: Record<string, string> = { bash: 'sh' }
const programs: Record<string, string> = {
  python: 'python3',
  go: 'gofmt',
  ruby: 'ruby',
  php: 'php',
  sh: 'bash',
  caddyfile: 'caddy',
  haproxy: 'haproxy',
  nginx: 'nginx',
}
const isMissing = (program: string | undefined): boolean =>
  program !== undefined && spawnSync(program, ['-v']).error !== undefined

describe('blocks of documentation parse', () => {
  for (const [language, faultOf] of Object.entries(languages)) {
    const own = blocks.filter(
      ({ language: name, info }) =>
        (aliases[name] ?? name) === language && (language === 'json' || !info.startsWith('part')),
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
  assert.equal(languages['swift']!(block('f(["a)": 1]) // ]')), undefined)
  assert.equal(languages['swift']!(block('f([1)]')), ') closes nothing')
  assert.equal(languages['swift']!(block('f(')), '( is not closed')
})

test('each block names a language that is checked here, or elsewhere', () => {
  // ts: documented-programs. typescript, tsx, svelte: documented-frameworks. console: documented-output. mermaid: the build of the site. sql: documented-sql, and the tutorial's own test.
  // dotenv: documented-settings. http: documented-calls. Lines of shells also run, in documented-shell.
  const elsewhere = new Set([
    'ts',
    'typescript',
    'tsx',
    'svelte',
    'console',
    'mermaid',
    'sql',
    'dotenv',
    'http',
    'text',
  ])
  // The receivers that the service shows, which its own tests run.
  const receivers = new Set(['java', 'csharp', 'rust'])
  const known = ({ language, page }: Block) =>
    elsewhere.has(language) ||
    Object.hasOwn(languages, aliases[language] ?? language) ||
    (receivers.has(language) && page === 'docs/guides/customers/verify.md')
  assert.deepEqual(
    blocks.filter((block) => !known(block)).map(({ from, language }) => `${from}: ${language}`),
    [],
  )
})
