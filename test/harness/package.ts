// The published package: packed, and installed in an empty folder outside the checkout, as its users have it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const quiet = ['--no-audit', '--no-fund', '--loglevel=error']

export interface InstalledPackage {
  /** The folder of the project that depends on the package. */
  project: string
  /** The package's own folder. */
  folder: string
  remove(): void
}

/** Runs `npm pack` in a folder of the checkout, and returns the path of the tarball in `folder`. */
export function pack(source: string, folder: string): string {
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder, ...quiet], {
    cwd: join(root, source),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  // The build prints before npm does.
  const [{ filename }] = JSON.parse(output.slice(output.indexOf('[\n'))) as [{ filename: string }]
  return join(folder, filename)
}

/** Packs the checkout and installs the tarball with npm. Needs the package registry, or npm's cache of it. */
export function installPostern(): InstalledPackage {
  const project = mkdtempSync(join(tmpdir(), 'postern-package-'))
  const tarball = pack('.', project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'product', private: true }))
  execFileSync('npm', ['install', '--prefer-offline', '--ignore-scripts', ...quiet, tarball], {
    cwd: project,
  })
  return {
    project,
    folder: join(project, 'node_modules/postern'),
    remove: () => rmSync(project, { recursive: true, force: true }),
  }
}
