// The texts of pages and messages, taken from string literals and JSX, for `npm run prose`.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { parseAst } from 'rolldown/parseAst'

const files = {
  pattern: ['src/**/*.ts', 'dashboard/src/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
  // Translations, receivers in other languages, statements, and the texts of people in samples.
  exclude: [
    '**/*.test.{ts,tsx}',
    'packages/client/src/api/calls.ts',
    '**/language/{de,es,fr,it,ja,nl,pl,pt,zh}.ts',
    'src/emitting/verification/languages/**',
    '**/samples/**',
    'src/demo/sample-data.ts',
    'src/storage/migrations/**',
  ],
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

/**
 * Writes a Markdown file for each source that has texts. Each text is an item of a list on the line of its source, so findings have the source's lines.
 * @returns the paths of the files, relative to the folder
 */
export function writeMessageTexts(root: string, folder: string): string[] {
  return globSync(files.pattern, { cwd: root, exclude: files.exclude }).flatMap((path) => {
    const source = readFileSync(join(root, path), 'utf8')
    const lines = source.split('\n').map(() => '')
    for (const { start, text } of textsOf(source, path.endsWith('x') ? 'tsx' : 'ts')) {
      const line = source.slice(0, start).split('\n').length - 1
      lines[line] = lines[line] === '' ? `- ${text}` : `${lines[line]!.replace(/[.:;]?$/, '.')} ${text}`
    }
    if (lines.every((line) => line === '')) return []
    const file = `${path.replaceAll(sep, '/')}.md`
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), lines.join('\n'))
    return [file]
  })
}

function* textsOf(source: string, lang: 'ts' | 'tsx'): Generator<{ start: number; text: string }> {
  for (const { node, value } of literalsOf(parseAst(source, { lang }) as unknown as Node)) {
    const text = value.replaceAll(/\s+/g, ' ').trim()
    if (isProse(text)) yield { start: node.start, text }
  }
}

function* literalsOf(node: Node): Generator<{ node: Node; value: string }> {
  if (/^(?:TS\w*(?:Type|TypeAnnotation|Declaration)|Import\w*|TaggedTemplateExpression)$/.test(node.type))
    return
  if (
    node.type === 'JSXAttribute' &&
    /^(?:className|class|d|style)$/.test((node['name'] as { name?: string }).name ?? '')
  )
    return
  if (node.type === 'TemplateLiteral')
    yield {
      node,
      value: (node['quasis'] as { value: { cooked?: string } }[])
        .map(({ value }) => value.cooked ?? '')
        .join('`x`'),
    }
  else if ((node.type === 'Literal' || node.type === 'JSXText') && typeof node['value'] === 'string')
    yield { node, value: node['value'] }
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* literalsOf(child)
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** At least three words, and neither a statement of SQL, nor code, nor classes of a style sheet. */
function isProse(text: string): boolean {
  const words = text.split(' ')
  const plain = words.filter((word) => /^[("“]?[A-Za-z][a-z’']*[.,:;?!)"”]*$/.test(word))
  return (
    words.length > 2 &&
    (words.length < 40 || /[.,:;]/.test(text)) &&
    plain.length > words.length / 2 &&
    !/^(?:select|insert|update|delete|create|alter|with|begin|set|drop)\b.*\b(?:from|into|set|table|index|local|as|on)\b|\bcase when\b/.test(
      text,
    ) &&
    !/[{}<>]|=>|&&|\);|\bfunction\b/.test(text)
  )
}
