// Which test files share a process. A process takes a second to load the service, and its first calls are slow until they are
// compiled: files of one folder, twenty in a process, need less than half the processor time of a process for each file.
const BATCH = 20

/**
 * Folders of tests that watch their own process or load the machine: each file has a process, and they begin first because they take
 * longest. They are the short forms of programs that run for hours, and of the benches.
 */
export const long: readonly string[] = ['chaos', 'bench', 'crash', 'simulation', 'fuzz']

const folderOf = (file: string) => file.split('/').slice(0, 2).join('/')

/** Divides the files of a folder into as few batches as possible, of about the same size. */
function inEqualParts(files: readonly string[]): string[][] {
  const parts = Math.ceil(files.length / BATCH)
  return Array.from({ length: parts }, (_, part) => files.filter((_file, index) => index % parts === part))
}

/** Groups test files, given as paths from the root of the repository, in the order in which they should begin. */
export function batchesOf(files: readonly string[]): string[][] {
  const isUnit = (file: string) => !file.startsWith('test/')
  const unit = files.filter(isUnit)
  const alone: string[][] = []
  const folders = new Map<string, string[]>()
  for (const file of files) {
    if (isUnit(file)) continue
    const folder = folderOf(file)
    if (long.some((name) => folder === `test/${name}`)) alone.push([file])
    else folders.set(folder, [...(folders.get(folder) ?? []), file])
  }
  const batches = [...folders.values()].flatMap(inEqualParts)
  // The largest come first, so that no process is left to work alone at the end. The unit tests take a second for ten files.
  const sorted = batches.toSorted((a, b) => b.length - a.length)
  return [...alone, ...(unit.length > 0 ? [unit] : []), ...sorted]
}
