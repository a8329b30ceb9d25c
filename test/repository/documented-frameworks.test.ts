// Programs that are files of a project with a framework compile together: blocks of the languages typescript, tsx and svelte. A page names
// the file in the paragraph before the block. Blocks of the language ts are compiled alone, by documented-programs.test.ts.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { allPages, blocksOf, fileAbove, root, type Block } from './documented/blocks.ts'
import { foreign, routeTypes } from './documented/foreign.ts'
import { programOf, svelteFaultOf } from './documented/svelte.ts'

const languages = new Set(['typescript', 'tsx', 'svelte'])
const blocks = allPages.flatMap(blocksOf)
/** A block of the language ts belongs to the project if its paragraph names its file. */
const programs = blocks.filter(
  (block) =>
    !block.info.startsWith('part') &&
    (languages.has(block.language) || (block.language === 'ts' && isFramework(block) && nameOf(block))),
)

function isFramework({ page }: Block): boolean {
  return blocks.some(
    (block) => block.page === page && (block.language === 'tsx' || block.language === 'svelte'),
  )
}

function nameOf(block: Block): string | undefined {
  return fileAbove(block, 'tsx?|svelte')
}

const projectOf = (page: string): string => page.replaceAll(/[/.]/g, '-')

/** @returns the path of the block's program within the folder of all projects */
function pathOf(block: Block): string {
  // Not `+page.svelte`, so that the compiler reads it.
  const name = nameOf(block) ?? `line-${block.from.split(':')[1]}.${block.language === 'tsx' ? 'tsx' : 'ts'}`
  return join(projectOf(block.page), name.replace(/\.svelte$/, '.svelte.ts'))
}

const dashboard = join(root, 'dashboard/node_modules')

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function configuration(folder: string): object {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: { paths: Record<string, string[]> }
  }
  const paths = Object.entries(compilerOptions.paths).map(([name, files]) => [
    name,
    files.map((file) => join(root, file)),
  ])
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      module: 'esnext',
      moduleResolution: 'bundler',
      jsx: 'react-jsx',
      // React's own types take `undefined` for a property that may be left out.
      exactOptionalPropertyTypes: false,
      lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
      paths: {
        ...Object.fromEntries(paths),
        react: [join(dashboard, '@types/react/index.d.ts')],
        'react/jsx-runtime': [join(dashboard, '@types/react/jsx-runtime.d.ts')],
        vite: [join(dashboard, 'vite/dist/node/index.d.ts')],
        '$lib/*': [join(folder, projectOf('docs/guides/frameworks/sveltekit.md'), 'src/lib/*')],
      },
    },
    include: ['**/*.ts', '**/*.tsx'],
    // That of the checkout leaves out node_modules, where these are.
    exclude: [],
  }
}

/** @returns what the compiler says about programs, by their path */
function compile(files: readonly (readonly [path: string, text: string])[]): string[] {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  // Below the checkout, so that the programs find the packages that they import.
  const folder = mkdtempSync(join(cache, 'documented-frameworks-'))
  try {
    for (const [name, text] of Object.entries(foreign))
      write(folder, `foreign/${name.replaceAll('/', '-')}.d.ts`, `declare module '${name}' {\n${text}\n}\n`)
    for (const [path, text] of files) {
      write(folder, path, text)
      if (path.includes('src/routes/')) write(folder, join(dirname(path), '$types.d.ts'), routeTypes)
    }
    write(folder, 'tsconfig.json', JSON.stringify(configuration(folder)))
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], {
      encoding: 'utf8',
      cwd: folder,
    })
    // The sources are checked with other options elsewhere; here only the programs count.
    return stdout.split('\n').filter((line) => /^(?!\.\.)(?:\S.*: )?error TS/.test(line))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const skip = !existsSync(join(dashboard, '@types/react')) && 'the packages of the dashboard are not installed'

test('the programs of pages about frameworks compile', { skip }, () => {
  const files = programs.map(
    (block) => [pathOf(block), block.language === 'svelte' ? programOf(block.text) : block.text] as const,
  )
  assert.equal(new Set(files.map(([path]) => path)).size, files.length, 'two programs have one name')
  for (const language of languages)
    assert.ok(
      programs.some((block) => block.language === language),
      `no program in ${language}`,
    )
  assert.deepEqual(compile(files), [])
})

test('a program that does not compile is found', { skip }, () => {
  const faults = compile([
    [
      'a/page.tsx',
      "import { UserButton } from 'postern-client/react'\nexport const page = <UserButton colour={1} />\n",
    ],
    [
      'b/route.ts',
      "import { withUser } from 'postern-client/next'\nexport const GET = withUser('no client', () => 1)\n",
    ],
    [
      'c/page.svelte.ts',
      programOf('<script lang="ts">\n  let { data } = $props()\n</script>\n<p>{dat.user}</p>\n'),
    ],
  ])
  for (const file of ['a/page.tsx', 'b/route.ts', 'c/page.svelte.ts'])
    assert.ok(
      faults.some((fault) => fault.startsWith(`${file}(`)),
      `${file} compiles: ${faults.join('\n')}`,
    )
})

// Svelte's own compiler would be twenty packages for the components of one page: TypeScript reads their scripts and expressions above.
test('the markup of components of Svelte is balanced', () => {
  const own = programs.filter(({ language }) => language === 'svelte')
  assert.ok(own.length > 0)
  assert.deepEqual(
    own.map(({ from, text }) => [from, svelteFaultOf(text)]).filter(([, fault]) => fault !== undefined),
    [],
  )
  assert.equal(svelteFaultOf('<p>{a}</p>{#if a}<b>{b}</b>{:else}-{/if}'), undefined)
  assert.match(svelteFaultOf('{#if a}<p>{a}</p>') ?? '', /stays open/)
  assert.match(svelteFaultOf('{#if a}<p>{a}</p>{/each}') ?? '', /closes if/)
  assert.match(svelteFaultOf('<p>{a}</b>') ?? '', /closes p/)
})

test('a part of a program is a part of a file that compiles', () => {
  const parts = blocks.filter(({ language, info }) => languages.has(language) && info.startsWith('part'))
  const files = globSync('examples/*/*.ts', { cwd: root }).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  )
  assert.deepEqual(
    parts.filter(({ text }) => !files.some((file) => file.includes(text.trim()))).map(({ from }) => from),
    [],
  )
})
