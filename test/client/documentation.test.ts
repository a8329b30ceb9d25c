// The programs in the documentation of the client library compile, against its sources.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const pages = ['docs/guides/client.md', 'packages/client/README.md', 'examples/client/README.md']

test('the programs of the guide and of the README compile', () => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  // Below the checkout, so that the programs find the packages that they import.
  const folder = mkdtempSync(join(cache, 'client-documentation-'))
  try {
    const programs = pages.flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code!),
    )
    assert.ok(programs.length >= 10, `${programs.length} programs`)
    for (const [index, code] of programs.entries()) writeFileSync(join(folder, `program-${index}.mts`), code)
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
      compilerOptions: { paths },
      include: ['*.mts', ...ambient],
      // That of the checkout leaves out node_modules, where these are.
      exclude: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project))
    const { stdout, status } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stdout)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
