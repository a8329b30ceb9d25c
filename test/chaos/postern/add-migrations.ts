// Node loads this module before the service (--import). It appends migrations to the service's list before anything reads the
// list, so that the process acts as one of a newer version.
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import type { Migration } from '../../../src/storage/migrations/index.ts'
import { migrationOf, versionOf } from './newer-version.ts'

// Threads load this module too. They do not migrate, and their first argument is a file of their own.
if (isMainThread) {
  // The first argument is a script of the checkout whose service is started: scripts/run.mjs or src/main.ts.
  const project = dirname(dirname(process.argv[1]!))
  const list = pathToFileURL(join(project, 'src', 'storage', 'migrations', 'index.ts'))
  const { migrations } = (await import(list.href)) as { migrations: Migration[] }
  const version = versionOf({ CHAOS_VERSION: process.env['CHAOS_VERSION'] ?? '0' })
  for (let number = 1; number <= version; number += 1) migrations.push(migrationOf(number))
}
