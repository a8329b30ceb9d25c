// Which test files share a process. A process takes a second to load the service, and its first calls are slow until they are
// compiled: files of one folder, many in a process, need less than half the processor time of a process for each file.
const SECONDS_OF_BATCH = 90

/** Seconds that a file of a folder takes beside four others, on two cores; of other folders two. */
const SECONDS: Readonly<Record<string, number>> = {
  accounts: 3,
  attacks: 3,
  browser: 30,
  cli: 4,
  demo: 8,
  emitting: 4,
  events: 4,
  examples: 6,
  listing: 3,
  mounting: 7,
  package: 12,
  receiving: 5,
  storage: 5,
}

/**
 * Folders of tests that watch their own process or load the machine: each file has a process, and they begin first because they take
 * longest. They are the short forms of programs that run for hours, and of the benches.
 */
export const long: readonly string[] = ['chaos', 'bench', 'crash', 'simulation', 'fuzz']

const folderOf = (file: string) => file.split('/').slice(0, 2).join('/')

const secondsOf = (files: readonly string[]) =>
  files.length * (SECONDS[folderOf(files[0]!).slice('test/'.length)] ?? 2)

/** Divides the files of a folder into as few batches as possible, of about the same size. */
function inEqualParts(files: readonly string[]): string[][] {
  const parts = Math.ceil(secondsOf(files) / SECONDS_OF_BATCH)
  return Array.from({ length: parts }, (_, part) => files.filter((_file, index) => index % parts === part))
}

/** Groups test files, given as paths from the root of the repository, in the order in which they should begin. */
export function batchesOf(files: readonly string[]): string[][] {
  const isUnit = (file: string) => !file.startsWith('test/')
  const unit = files.filter(isUnit)
  const isAlone = (folder: string) => long.some((name) => folder === `test/${name}`)
  const folders = [
    ...Map.groupBy(
      files.filter((file) => !isUnit(file)),
      folderOf,
    ),
  ]
  const alone = folders.flatMap(([folder, own]) => (isAlone(folder) ? own.map((file) => [file]) : []))
  const batches = folders.flatMap(([folder, own]) => (isAlone(folder) ? [] : inEqualParts(own)))
  // The longest come first, so that no process is left to work alone at the end. The unit tests take a second for ten files.
  const sorted = batches.toSorted((one, other) => secondsOf(other) - secondsOf(one))
  return [...alone, ...(unit.length > 0 ? [unit] : []), ...sorted]
}
