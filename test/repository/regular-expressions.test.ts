// No regular expression backtracks: each is checked by recheck, with its implementation in JavaScript, which starts no other program.
// Expressions are taken from the syntax trees of the sources: literals, `new RegExp(…)`, and `pattern` of schemas.
import assert from 'node:assert/strict'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkSync } from 'recheck'
import { parseAst } from 'rolldown/parseAst'

const root = join(import.meta.dirname, '..', '..')

/** Expressions that recheck reports, with the reason why no long hostile text reaches them. */
const allowed: Readonly<Record<string, string>> = {
  [String.raw`/ ?An API key needs the scope [^.]*\.$/`]: 'reads descriptions of our own routes',
  [String.raw`/^<!--[^]*?-->\n?/gm`]: 'reads our own guide',
  [String.raw`/^([A-Z][^:]*)(?:, [^:]*)?:$/`]: 'reads our own guide',
  [String.raw`/\[([^\]]+)\]\(([^)/]+)\/([^)/#]+)\.md\)/g`]: 'reads our own guide',
}

/** Files with `new RegExp` of what is known at run time only, with the reason why it does not backtrack. */
const madeAtRunTime: Readonly<Record<string, string>> = {
  'src/cli/env-file.ts': 'a name of a setting, escaped, after the beginning of a line',
  'src/http/raw/routes.ts':
    'the beginning of a path, of letters, digits and slashes; the rest takes linear time',
  'src/http/responses/response-headers.ts': 'the path of a route, whose parameters are segments of a path',
  'src/oauth2/device/device-codes.ts': 'a fixed number of letters',
}

interface Node {
  type: string
  start: number
  end: number
  [name: string]: unknown
}

interface Expression {
  readonly file: string
  readonly source: string
  readonly flags: string
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

function* nodesOf(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* nodesOf(one)
  if (!isNode(value)) return
  yield value
  for (const inner of Object.values(value)) if (typeof inner === 'object') yield* nodesOf(inner)
}

const files = globSync(
  ['src/**/*.{ts,js}', 'packages/client/src/**/*.{ts,tsx}', 'dashboard/src/**/*.{ts,tsx}'],
  {
    cwd: root,
  },
)
  .filter((file) => !/\.test\.|\.d\.ts$/.test(file))
  .toSorted()
const trees = files.map((file) => {
  const text = readFileSync(join(root, file), 'utf8')
  return { file, text, nodes: [...nodesOf(parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }))] }
})

/** The constants of all files: those of schemas are in other files than their users. */
const constants = new Map<string, unknown>()
for (const { nodes } of trees)
  for (const { type, id, init } of nodes)
    if (type === 'VariableDeclarator' && isNode(id) && id.type === 'Identifier' && isNode(init))
      constants.set(id['name'] as string, init)

/** The text of an expression that is made of literals and constants; undefined for all others. */
function textOf(node: unknown, depth = 0): string | undefined {
  if (!isNode(node) || depth > 20) return undefined
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined
  if (node.type === 'Identifier') return textOf(constants.get(node['name'] as string), depth + 1)
  if (node.type === 'TaggedTemplateExpression' && (node['tag'] as Node)['property'] !== undefined)
    return textOf(node['quasi'], depth + 1)
  if (node.type === 'BinaryExpression')
    return concatenated(textOf(node['left'], depth + 1), textOf(node['right'], depth + 1))
  if (node.type !== 'TemplateLiteral') return undefined
  const texts = node['quasis'] as { value: { cooked: string; raw: string } }[]
  const parts = (node['expressions'] as unknown[]).map((one) => textOf(one, depth + 1))
  return parts.includes(undefined)
    ? undefined
    : texts.map(({ value }, at) => value.cooked + (parts[at] ?? '')).join('')
}

const concatenated = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || other === undefined ? undefined : one + other

const found: Expression[] = []
const unread = new Set<string>()
for (const { file, nodes } of trees)
  for (const node of nodes) {
    const regex = node['regex'] as { pattern: string; flags: string } | undefined
    if (node.type === 'Literal' && regex) found.push({ file, source: regex.pattern, flags: regex.flags })
    const isMade = node.type === 'NewExpression' || node.type === 'CallExpression'
    if (isMade && (node['callee'] as Node)['name'] === 'RegExp') {
      const [pattern, flags] = node['arguments'] as Node[]
      const source = textOf(pattern)
      if (source === undefined) unread.add(file)
      else found.push({ file, source, flags: textOf(flags) ?? '' })
    }
    const isPattern = node.type === 'Property' && (node['key'] as Node)['name'] === 'pattern'
    const source = isPattern ? textOf(node['value']) : undefined
    if (source !== undefined) found.push({ file, source, flags: 'u' })
  }

test('the expressions of the sources are found', () => {
  assert.ok(found.length > 400, String(found.length))
  for (const text of [String.raw`^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$`, '[?&]$'])
    assert.ok(
      found.some(({ source }) => source === text),
      text,
    )
})

test('expressions that are made at run time are known', () => {
  assert.deepEqual([...unread].toSorted(), Object.keys(madeAtRunTime).toSorted())
})

test('backtracking is reported, also of expressions that only trials can tell', () => {
  for (const source of [
    String.raw`^ *[+-]?(?:\d+\.?\d*|\.\d+)$`,
    String.raw`^(?:\s|\/\*[^]*?\*\/)*rollback(?!\s+to\b)\b`,
    String.raw`(?<!\w)“[^”]*”(?!\w)`,
  ])
    assert.equal(check({ file: '', source, flags: '' }).status, 'vulnerable', source)
})

test('none backtracks', () => {
  const reported = new Map<string, string>()
  const unique = new Map(found.map((one) => [`/${one.source}/${one.flags}`, one]))
  for (const [text, expression] of unique) {
    const { status, why } = check(expression)
    if (status !== 'safe') reported.set(text, `${expression.file}: ${status} ${why}`)
  }
  for (const text of Object.keys(allowed)) {
    assert.ok(reported.has(text), `${text} is no longer reported: remove it from the list`)
    reported.delete(text)
  }
  assert.deepEqual([...reported], [])
})

/**
 * Steps are limited, so that the result is the same on every machine; the time is that of an expression that must be written in another
 * way. Fewer trials than by default found the same faults.
 */
const limits = {
  randomSeed: 1,
  timeout: 300_000,
  seedingTimeout: null,
  incubationTimeout: null,
  attackTimeout: null,
  attackLimit: 20_000_000,
  maxIteration: 4,
  maxInitialGenerationSize: 100,
  maxGenerationSize: 50,
  mutationSize: 10,
  crossoverSize: 10,
}

type Result = { status: string; why: string }

/** The results of earlier runs, which took 20 seconds: a result follows from the expression, the limits and the version of recheck. */
const cache = join(root, '.cache', 'regular-expressions.json')
const { version } = JSON.parse(readFileSync(join(root, 'node_modules/recheck/package.json'), 'utf8')) as {
  version: string
}
const known = new Map(
  existsSync(cache) ? (JSON.parse(readFileSync(cache, 'utf8')) as [string, Result][]) : [],
)
const used = new Map<string, Result>()
after(() => {
  mkdirSync(join(cache, '..'), { recursive: true })
  writeFileSync(cache, JSON.stringify([...used]))
})

function check({ source, flags }: Expression): Result {
  const key = JSON.stringify([version, limits, source, flags])
  const result = known.get(key) ?? checkNow(source, flags)
  used.set(key, result)
  return result
}

function checkNow(source: string, flags: string): Result {
  process.env['RECHECK_SYNC_BACKEND'] = 'pure'
  const result = checkSync(source, flags, limits)
  if (result.status === 'safe') return { status: 'safe', why: '' }
  const why = result.status === 'vulnerable' ? `by ${result.attack.pattern}` : result.error.kind
  return { status: result.status, why }
}
