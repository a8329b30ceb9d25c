// The programs in the documentation compile, against the sources of the service and of the client library.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const pages = globSync(['README.md', 'docs/**/*.md', 'packages/*/README.md', 'examples/**/README.md'], {
  cwd: root,
  // test/examples/tutorial.test.ts runs the programs of the tutorial.
  exclude: ['**/node_modules/**', 'docs/tutorial/**'],
})

interface Program {
  /** The page and the line that it begins at. */
  from: string
  code: string
}

function programsOf(page: string): Program[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map((match) => ({
    from: `${page}:${text.slice(0, match.index).split('\n').length}`,
    code: match[1]!,
  }))
}

/** What programs import of the reader's own, with any type. */
const own = { './orders.ts': 'onOrder onOrderPaid buildReport' }

/** That of a project of the reader's, if the page shows none. */
const anyConfiguration = "import { defineConfig } from 'postern'\nexport default defineConfig({})\n"

/** Each program has a folder of its own, with the configuration module that its page shows before it, as many folders above as it says. */
function write(folder: string, { from, code }: Program, configuration = anyConfiguration): void {
  const home = join(folder, from.replaceAll(/[/.]/g, '-').replace(':', '-line-'))
  const [, up] = /'((?:\.\.\/)+|\.\/)postern\.config\.ts'/.exec(code) ?? []
  const depth = up?.startsWith('..') ? up.length / '../'.length : 0
  const file = join(home, 'folder/'.repeat(depth), 'program.mts')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, code)
  if (up !== undefined) writeFileSync(join(home, 'postern.config.ts'), configuration)
  for (const [path, names] of Object.entries(own))
    if ((code + configuration).includes(path))
      writeFileSync(
        join(dirname(file), path),
        names
          .split(' ')
          .map((name) => `export declare const ${name}: (...about: any[]) => Promise<void>\n`)
          .join(''),
      )
}

test('the programs of all guides and READMEs compile', () => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  // Below the checkout, so that the programs find the packages that they import.
  const folder = mkdtempSync(join(cache, 'documented-programs-'))
  try {
    let count = 0
    for (const page of pages) {
      let configuration: string | undefined
      for (const program of programsOf(page)) {
        count++
        write(folder, program, configuration)
        if (program.code.includes('export default defineConfig')) configuration = program.code
      }
    }
    assert.ok(count >= 30, `${count} programs`)
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
      compilerOptions: { paths: Record<string, string[]> }
    }
    const paths = Object.fromEntries(
      Object.entries(compilerOptions.paths).map(([name, files]) => [
        name,
        files.map((file) => join(root, file)),
      ]),
    )
    // Declarations of modules, which no import leads to.
    const ambient = globSync('{src,packages/*/src}/**/*.d.ts', { cwd: root }).map((file) => join(root, file))
    const project = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { paths, lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'] },
      include: ['**/*.mts', ...ambient],
      // That of the checkout leaves out node_modules, where these are.
      exclude: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
    // The sources are checked without the types of browsers elsewhere; here only the programs count.
    const faults = stdout.split('\n').filter((line) => line.includes('program.mts('))
    assert.deepEqual(faults, [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
