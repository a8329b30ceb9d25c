import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { bundleClient } from './bundle.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'packages/client')

interface Manifest {
  version: string
  dependencies?: object
  exports: Record<string, string | { types: string; default: string }>
}

const manifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8')) as Manifest

describe('the client library', () => {
  // In bytes, compressed; the first bound is the issue's.
  for (const [entry, most] of [
    ['session/index.ts', 6_144],
    ['tokens/index.ts', 6_144],
    ['browser/index.ts', 6_144],
    ['index.ts', 10_240],
  ] as const)
    test(`${entry} has at most ${most} bytes, compressed`, async () => {
      const { length } = gzipSync(await bundleClient(entry), { level: 9 })
      assert.ok(length > 500 && length <= most, `${length} bytes`)
    })

  test('has no dependencies, and the version of the service', () => {
    const { dependencies, version } = manifest(join(folder, 'package.json'))
    assert.equal(dependencies, undefined)
    assert.equal(version, manifest(join(root, 'package.json')).version)
  })

  test('exports only modules that exist', () => {
    for (const target of Object.values(manifest(join(folder, 'package.json')).exports)) {
      if (typeof target === 'string') continue
      const source = target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
      assert.deepEqual(globSync(source, { cwd: folder }), [source])
      assert.equal(target.types, target.default.replace(/\.js$/, '.d.ts'))
    }
  })

  test('imports nothing but its own modules, and React and TanStack Query below react/', () => {
    const outside = globSync('src/**/*.ts', { cwd: folder, exclude: ['**/*.test.ts', '**/*.d.ts'] }).flatMap(
      (file) =>
        [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:from|import) '([^.'][^']*)'/g)].map(
          ([, name]) => `${file}: ${name}`,
        ),
    )
    const react = ['components', 'provider'].map((name) => `src/react/${name}.ts: react`)
    assert.deepEqual(outside.toSorted(), [...react, 'src/react/use-list.ts: @tanstack/react-query'])
  })
})
