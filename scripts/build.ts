// `npm run build`: makes dist/, which only the published package has. The checkout runs its sources.
// Modules are bundled, so that a start reads few files; source maps hold the sources, so that a stack trace leads to them.
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { buildDashboard } from './dashboard.mjs'
import { isForContributors } from '../src/http/guide/markdown.ts'
import { shortenMaps } from './line-maps.ts'

const root = join(import.meta.dirname, '..')
const source = join(root, 'src')
const dist = join(root, 'dist')

/** Libraries of hundreds of small modules, and their licenses: reading each module takes a quarter of a start. */
const inlined: Record<string, string> = { kysely: 'LICENSE', typebox: 'license' }

/** How a module names another one that a thread loads. The bundler rewrites the paths of imports only. */
const threadUrl = /(?<=new URL\('([\w-]+))\.ts(?=', import\.meta\.url\))/g

/** The modules that threads load: each becomes a file of its own. */
function threadModules(): Record<string, string> {
  const modules: Record<string, string> = {}
  for (const file of globSync('**/*.ts', { cwd: source }))
    for (const [, name] of readFileSync(join(source, file), 'utf8').matchAll(threadUrl))
      modules[name!] = join(source, dirname(file), `${name}.ts`)
  return modules
}

const threadUrls = {
  name: 'thread-urls',
  // No position changes, so that the source map stays true.
  transform: (code: string) =>
    code.includes('new URL(') ? { code: code.replace(threadUrl, '.js'), map: null } : undefined,
}

async function bundle(): Promise<void> {
  const build = await rolldown({
    input: {
      main: join(source, 'main.ts'),
      index: join(source, 'index.ts'),
      // No entry of the package: its own tests start the service through it.
      service: join(source, 'service.ts'),
      'testing/index': join(source, 'testing/index.ts'),
      'telemetry/opentelemetry': join(source, 'telemetry/opentelemetry.ts'),
      ...threadModules(),
    },
    platform: 'node',
    external: (id) => !/^[./]/.test(id) && !(id in inlined),
    plugins: [threadUrls],
    // A chunk may hold both a command and what loads it: no reader of the build can act on that.
    checks: { ineffectiveDynamicImport: false },
    cwd: root,
  })
  await build.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    minify: { codegen: true, mangle: { keepNames: true }, compress: false },
    comments: { annotation: false, jsdoc: false },
  })
}

const importedSource = /((?:from |import\()['"]\.[^'"]+)\.ts(['"])/g
const importedModule = /(?:from |import\()['"](\.[^'"]+)\.js['"]/g

/** Writes the declarations of all modules, and keeps those that the entries of the package lead to. */
function declare(): void {
  const compiler = join(root, 'node_modules/.bin/tsc')
  const { status } = spawnSync(compiler, ['-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) process.exit(status ?? 1)
  const reached = new Set<string>()
  const follow = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    const text = readFileSync(file, 'utf8').replace(importedSource, '$1.js$2')
    writeFileSync(file, text)
    for (const [, path] of text.matchAll(importedModule)) follow(resolve(dirname(file), `${path}.d.ts`))
  }
  for (const entry of ['index', 'testing/index', 'telemetry/opentelemetry'])
    follow(join(dist, `${entry}.d.ts`))
  for (const file of globSync('**/*.d.ts', { cwd: dist }))
    if (!reached.has(join(dist, file))) rmSync(join(dist, file))
}

rmSync(dist, { recursive: true, force: true })
declare()
await bundle()
shortenMaps(dist)
for (const [name, license] of Object.entries(inlined))
  cpSync(join(root, 'node_modules', name, license), join(dist, `licenses/${name}.txt`))
for (const folder of ['http/pages/assets', 'emitting/verification/templates', 'emitting/svix/document'])
  cpSync(join(source, folder), join(dist, folder), { recursive: true })
if (!(await buildDashboard())) process.exit(1)
cpSync(join(root, 'dashboard/dist'), join(dist, 'dashboard'), {
  recursive: true,
  filter: (path) => !path.endsWith('.sources'),
})
// The service renders the guide from its Markdown.
cpSync(join(root, 'docs'), join(dist, 'guide'), {
  recursive: true,
  filter: (path) => !isForContributors(relative(join(root, 'docs'), path).replaceAll(sep, '/')),
})
console.log(`${relative(process.cwd(), dist)}: ${globSync('**/*.js', { cwd: dist }).length} modules`)
