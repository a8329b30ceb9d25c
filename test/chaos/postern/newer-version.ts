import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Migration } from '../../../src/storage/migrations/index.ts'
import type { PosternProcess } from './process.ts'

type Settings = PosternProcess['settings']

/** The version of a process with these settings: 0 is that of the checkout. */
export function versionOf(settings: Settings): number {
  return Number(settings['CHAOS_VERSION'] ?? 0)
}

/** The settings of a process of a newer version, which has one more breaking migration for each version up to its own. */
export function newerSettings(settings: Settings, version: number): Settings {
  const module = pathToFileURL(join(import.meta.dirname, 'add-migrations.ts'))
  return { ...settings, CHAOS_VERSION: String(version), NODE_OPTIONS: `--import=${module.href}` }
}

/** The migration that a version adds. Its number is above those of all real ones. */
export function migrationOf(version: number): Migration {
  const create = `create table chaos_version_${version} (id integer)`
  return {
    number: 9_000 + version,
    name: `chaos-version-${version}`,
    breaking: true,
    sqlite: create,
    postgres: create,
  }
}
