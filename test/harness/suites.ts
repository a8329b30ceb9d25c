// Which test files belong to which suite.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { long } from './batches.ts'

export type Suite = 'main' | 'docs' | 'long' | 'browser' | 'package'

const root = join(import.meta.dirname, '..', '..')

/** Tests that run what the documentation shows: commands, programs, examples, the files of deploy/, and `init`, which packs all. */
const documentation = [
  'test/cli/init.test.ts',
  'test/deploy/*.test.ts',
  'test/examples/*.test.ts',
  'test/repository/documented-*.test.ts',
  'test/repository/migrating.test.ts',
  'test/repository/migration-programs.test.ts',
  'test/repository/provider-*.test.ts',
  'test/repository/secrets-page.test.ts',
  'test/repository/sender-pages.test.ts',
  'test/repository/shown-files.test.ts',
]

const filesIn = (folders: readonly string[]): string[] =>
  folders.map((folder) => `test/${folder}/**/*.test.ts`)

/** Tests of the checkout's own modules, files and scripts: they say nothing about the package. */
const notOfPackage = filesIn([...long, 'browser', 'client', 'deploy', 'repository', 'storage'])

/** The tests beside the code. */
const unit = '{src,packages/*/src,dashboard/src}/**/*.test.ts'
const blackBox = 'test/**/*.test.ts'
const special = filesIn(['browser', 'package'])

/** What `npm test` leaves to suites of their own, unless it is asked for. */
const apart = [...documentation, ...filesIn(long)]

const find = (patterns: readonly string[], exclude: readonly string[] = []): string[] =>
  globSync(patterns, { cwd: root, exclude })

/**
 * The files of a suite, as paths from the root of the repository.
 * @param filters parts of paths. With them the main suite has the documentation and the long tests too: they were asked for.
 */
export function filesOf(suite: Suite, filters: readonly string[]): string[] {
  const all = {
    main: () => find([unit, blackBox], [...special, ...(filters.length > 0 ? [] : apart)]),
    docs: () => find(documentation),
    long: () => find(filesIn(long)),
    browser: () => find(filesIn(['browser'])),
    package: () => find([blackBox], notOfPackage),
  }[suite]()
  return all.filter((file) => filters.length === 0 || filters.some((part) => file.includes(part))).toSorted()
}
