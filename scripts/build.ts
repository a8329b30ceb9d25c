// `npm run build`: makes dist/, which only the published package has. The checkout runs its sources.
// Modules are bundled, so that a start reads few files; source maps hold the sources, so that a stack trace leads to them.
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..')
const source = join(root, 'src')
const dist = join(root, 'dist')

/** Each module that starts a thread's code: it is started by its own URL. */
const threads = globSync('**/*-thread.ts', { cwd: source })
const input = {
  main: join(source, 'main.ts'),
  index: join(source, 'index.ts'),
  // No entry of the package: its own tests start the service through it.
  service: join(source, 'service.ts'),
  'testing/index': join(source, 'testing/index.ts'),
  ...Object.fromEntries(threads.map((file) => [basename(file, '.ts'), join(source, file)])),
}

/** The paths of threads: the bundler rewrites those of imports only. */
const threadUrl = /(?<=new URL\('[\w-]+-thread)\.ts(?=', import\.meta\.url\))/g
const threadUrls = {
  name: 'thread-urls',
  transform: {
    filter: { code: /-thread\.ts/ },
    // No position changes, so that the source map stays true.
    handler: (code: string) => ({ code: code.replace(threadUrl, '.js'), map: null }),
  },
}

async function bundle(): Promise<void> {
  const build = await rolldown({
    input,
    platform: 'node',
    external: (id) => !/^[./]/.test(id),
    plugins: [threadUrls],
    cwd: root,
  })
  await build.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    minify: { codegen: true, mangle: false, compress: false },
    comments: { annotation: false, jsdoc: false },
  })
}

const importedSource = /((?:from |import\()['"]\.[^'"]+)\.ts(['"])/g
const importedModule = /(?:from |import\()['"](\.[^'"]+)\.js['"]/g

/** Writes the declarations of all modules, and keeps those that the entries of the package lead to. */
function declare(): void {
  const compiler = join(root, 'node_modules/.bin/tsc')
  const { status } = spawnSync(compiler, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  const reached = new Set<string>()
  const follow = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    const text = readFileSync(file, 'utf8').replace(importedSource, '$1.js$2')
    writeFileSync(file, text)
    for (const [, path] of text.matchAll(importedModule)) follow(resolve(dirname(file), `${path}.d.ts`))
  }
  for (const entry of ['index', 'testing/index']) follow(join(dist, `${entry}.d.ts`))
  for (const file of globSync('**/*.d.ts', { cwd: dist }))
    if (!reached.has(join(dist, file))) rmSync(join(dist, file))
}

rmSync(dist, { recursive: true, force: true })
declare()
await bundle()
cpSync(join(source, 'http/assets'), join(dist, 'http/assets'), { recursive: true })
console.log(`${relative(process.cwd(), dist)}: ${globSync('**/*.js', { cwd: dist }).length} modules`)
