// `npm run -s vendor -- PROJECT`: puts both packages into PROJECT/vendor, as postern.tgz and postern-client.tgz. `postern init` runs it
// for a new project, because no registry has the packages yet. They are built again only if their sources have changed.
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { say } from '../bin/launch.mjs'
import { digestOf, kept, sources as dashboardSources } from './dashboard.mjs'
import { lock } from './install.mjs'
import { nodeBinary, npm, waitFor } from './node.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, '.cache', 'packages')
const stamp = join(cache, '.sources')
const packages = [
  { folder: '.', name: 'postern', build: 'scripts/build.ts' },
  { folder: 'packages/client', name: 'postern-client', build: 'scripts/build-client.ts' },
]
const sources = [
  ...dashboardSources,
  'bin',
  'src',
  'docs',
  'package-lock.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'packages/client/README.md',
  ...packages.flatMap(({ folder, build }) => [join(folder, 'package.json'), build]),
]

async function succeeds(child) {
  const { code, error } = await child
  if (error || code !== 0) {
    say('the packages could not be built: see the messages above.')
    process.exit(1)
  }
}

async function packAll(digest) {
  say('packing postern and postern-client (up to a minute; only after a change)')
  const started = Date.now()
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  for (const { folder, name, build } of packages) {
    await succeeds(
      waitFor(spawn(nodeBinary(), [join(root, build)], { cwd: root, stdio: ['ignore', 'ignore', 2] })),
    )
    await succeeds(npm(['pack', '--silent', '--pack-destination', cache], join(root, folder), 'ignore'))
    const { version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    renameSync(join(cache, `${name}-${version}.tgz`), join(cache, `${name}.tgz`))
  }
  writeFileSync(stamp, digest)
  say(`packed in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

if (!process.argv[2]) {
  say('name the folder of your project: npm run -s vendor -- ../shop')
  process.exit(2)
}
const target = join(resolve(process.argv[2]), 'vendor')
await lock('pack', 'another process is packing, waiting for it')
const digest = digestOf(sources)
if (kept(stamp) !== digest) await packAll(digest)
mkdirSync(target, { recursive: true })
for (const { name } of packages) copyFileSync(join(cache, `${name}.tgz`), join(target, `${name}.tgz`))
