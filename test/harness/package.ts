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

/** Packs `postern` and `postern-client` as `postern init` does in a checkout: they are built once for each state of the sources. */
function packAll(project: string): void {
  const script = join(root, 'scripts/vendor.mjs')
  execFileSync(process.execPath, [script, project], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
}

/**
 * Installs the packed checkout with npm; `vendor/` of the project has both packages. Needs the package registry, or npm's cache of it.
 */
export function installPostern(): InstalledPackage {
  const project = mkdtempSync(join(tmpdir(), 'postern-package-'))
  packAll(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'product', private: true }))
  const tarball = './vendor/postern.tgz'
  execFileSync('npm', ['install', '--prefer-offline', '--ignore-scripts', ...quiet, tarball], {
    cwd: project,
  })
  return {
    project,
    folder: join(project, 'node_modules/postern'),
    remove: () => rmSync(project, { recursive: true, force: true }),
  }
}
