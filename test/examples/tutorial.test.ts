// docs/tutorial.md from an empty folder: its files are written, its commands run, what they print is compared, and the result is
// examples/shop.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { projectFiles } from '../../src/cli/init.ts'
import { version } from '../../src/runtime/version.ts'
import { Browser, onSqlite, started } from '../harness/index.ts'
import { blocksOf, root, stepsOf, type Block } from '../repository/documented/blocks.ts'
import { matches } from '../repository/documented/mask.ts'
import { eventually } from '../receiving/harness.ts'
import { addEndpoint, signIn } from './shop/programs.ts'
import { Project } from './shop/project.ts'

const chapters = ['project', 'orders', 'test', 'lists', 'sign-in', 'webhooks', 'live', 'operate']
const blocks = chapters.flatMap((name) => blocksOf(`docs/tutorial/${name}.md`))

/** The file that the first line of a block names, as a comment. */
function fileOf({ language, text }: Block): { path: string; text: string } | undefined {
  if (language === '' || language === 'console') return undefined
  const [, path] = /^(?:\/\/|--|#|<!--) ([\w./-]+)(?: -->)?\n/.exec(text) ?? []
  return path === undefined ? undefined : { path, text: text.slice(text.indexOf('\n') + 1).trimEnd() + '\n' }
}

const read = (path: string): string => readFileSync(join(root, 'examples/shop', path), 'utf8')

test('the last version of each file in the tutorial is the file of examples/shop', () => {
  const shown = new Map<string, string>()
  for (const block of blocks) {
    const file = fileOf(block)
    if (file) shown.set(file.path, file.text)
  }
  for (const [path, text] of shown) assert.equal(text, read(path), path)
  const generated = projectFiles({ name: 'shop', version, empty: true })
  const ofInit = ['tsconfig.json', '.gitignore', '.env.example', 'compose.yaml']
  for (const path of ofInit) assert.equal(read(path), generated[path], path)
  const others = globSync('**/*', { cwd: join(root, 'examples/shop'), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(root, 'examples/shop/').length))
    .filter((path) => !shown.has(path) && !ofInit.includes(path))
  assert.deepEqual(others.toSorted(), ['README.md', 'package.json'])
})

describe('the tutorial', onSqlite, () => {
  const grace = new Browser()
  const project = started(() => Project.create())

  // The last two chapters need a machine and a host name.
  for (const chapter of chapters.slice(0, -2))
    test(`chapter ${chapter}`, async () => {
      for (const block of blocks.filter(({ page }) => page === `docs/tutorial/${chapter}.md`)) {
        const file = fileOf(block)
        if (file) project.write(file.path, file.text)
        else if (block.language === 'console' && !block.info.startsWith('no-run')) await carryOut(block)
      }
    })

  test('the project has the scripts of examples/shop', () => {
    const scripts = (text: string): unknown => (JSON.parse(text) as { scripts: unknown }).scripts
    assert.deepEqual(
      scripts(readFileSync(join(project.folder, 'package.json'), 'utf8')),
      scripts(read('package.json')),
    )
  })

  async function carryOut(block: Block): Promise<void> {
    const steps = stepsOf(block)
    // Without a command: what a program shows that runs in another terminal.
    if (steps.length === 0) return shows(block.text, block.from)
    for (const { command, output } of steps) {
      if (/^(?:npm run dev|node receiver\.ts)/.test(command)) {
        await project.start(await asReader(command))
        if (output.trim() !== '') await shows(output, block.from)
        continue
      }
      await project.settled()
      const expanded = await asReader(command)
      const look = async (): Promise<string> => project.run(expanded)
      let printed = await look()
      // What a command reads may still be on its way.
      if (/^curl(?!.* -X)/.test(command))
        await eventually(
          async () => matches(output, printed) || ((printed = await look()), false),
          block.from,
        ).catch(() => undefined)
      if (!matches(output, printed)) assert.equal(printed.trim(), output.trim(), `${block.from}: ${command}`)
    }
  }

  async function shows(output: string, from: string): Promise<void> {
    const wanted = output.trim().replaceAll(/^…\n|\n…$/g, '')
    await eventually(() => matches(`…${wanted}…`, project.printed()), from).catch(() =>
      assert.equal(project.printed(), output, from),
    )
  }

  /** What a reader copies from a page in the browser. */
  async function asReader(command: string): Promise<string> {
    if (command.startsWith('CUSTOMER=')) return `CUSTOMER=${await signIn(grace, project.base, 'grace')}`
    if (!command.startsWith('node receiver.ts')) return command
    return `node receiver.ts ${await addEndpoint(grace, project.base, project.receiver)}`
  }
})
