import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { codeFolder } from '../../code-folder.ts'

/** The Markdown of the guide: copied into the package, and docs/ in a checkout. */
export const guideFolder = [join(codeFolder, 'guide'), join(dirname(codeFolder), 'docs')].find((folder) =>
  existsSync(join(folder, 'index.md')),
)

/** Pages for those who change Postern, not for those who use it. The package leaves them out. */
export const isForContributors = (name: string): boolean =>
  /^(?:adr\/|contributing\/|dependencies\.md$)/.test(name)

export interface Entry {
  title: string
  /** The path below docs/, without `.md`. */
  page: string
  /** The pages of the folder with the page's name, such as `guides/senders/` beside `guides/senders.md`. */
  below: readonly Entry[]
}

interface Group {
  title: string
  entries: readonly Entry[]
}

/** The Markdown files of the guide, and the navigation that docs/README.md describes. */
export class Contents {
  /** Paths below the folder, without `.md`. */
  readonly pages: ReadonlySet<string>
  readonly groups: readonly Group[]
  /** All entries, in the order of the navigation. */
  readonly order: readonly Entry[]
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    this.pages = new Set(
      globSync('**/*.md', { cwd: folder })
        .map((name) => name.replaceAll(sep, '/'))
        .filter((name) => !isForContributors(name))
        .map((name) => name.slice(0, -'.md'.length)),
    )
    this.groups = this.readGroups()
    this.order = this.groups.flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.below]))
  }

  /** The Markdown of a page, without comments. */
  read(page: string): string {
    return readFileSync(join(this.folder, `${page}.md`), 'utf8').replaceAll(/^<!--[^]*?-->\n?/gm, '')
  }

  /** In docs/README.md a paragraph that ends with a colon begins a group, and each item of the list below is a page. */
  private readGroups(): Group[] {
    const groups: { title: string; entries: Entry[] }[] = []
    for (const line of this.read('README').split('\n')) {
      const heading = /^([A-Z][^:]*)(?:, [^:]*)?:$/.exec(line)
      if (heading) groups.push({ title: heading[1]!, entries: [] })
      const [, title, page] = /^- \[([^\]]+)\]\((?!\.\.)([^)]+)\.md\)/.exec(line) ?? []
      if (title !== undefined && page !== undefined && this.pages.has(page))
        groups.at(-1)?.entries.push({ title, page, below: this.entriesBelow(page) })
    }
    return groups
  }

  /** In the order in which the page links to them. */
  private entriesBelow(page: string): Entry[] {
    const folder = page.slice(page.lastIndexOf('/') + 1)
    const found = new Map<string, Entry>()
    for (const [, title, of, name] of this.read(page).matchAll(/\[([^\]]+)\]\(([^)/]+)\/([^)/#]+)\.md\)/g))
      if (of === folder && !found.has(name!) && this.pages.has(`${page}/${name}`))
        found.set(name!, { title: title!, page: `${page}/${name}`, below: [] })
    return [...found.values()]
  }
}
