import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'

const docs = join(import.meta.dirname, '../../docs')
const read = (page: string) => readFileSync(join(docs, `${page}.md`), 'utf8')

/** The pages of the folder beside a page that has its name, in the order in which the page links to them. */
function pagesBelow(page: string): DefaultTheme.SidebarItem[] {
  if (!existsSync(join(docs, page))) return []
  const folder = page.slice(page.lastIndexOf('/') + 1)
  const links = read(page).matchAll(/\[([^\]]+)\]\(([^)/]+)\/([^)/#]+)\.md\)/g)
  const items = new Map<string, DefaultTheme.SidebarItem>()
  for (const [, text, of, name] of links)
    if (of === folder && !items.has(name!)) items.set(name!, { text: text!, link: `/${page}/${name}` })
  return [...items.values()]
}

/**
 * Groups do not collapse: the theme would put a button into another, which screen readers do not find.
 * The sidebar follows the table of contents in docs/README.md: each paragraph that ends with a colon is a group. A page
 * such as `guides/senders.md` holds the pages of the folder `guides/senders/` that it links to.
 */
export const sidebar: DefaultTheme.SidebarItem[] = []
for (const line of read('README').split('\n')) {
  const heading = /^([A-Z][^:]*)(?:, [^:]*)?:$/.exec(line)
  if (heading) sidebar.push({ text: heading[1]!, items: [] })
  const link = /^- \[([^\]]+)\]\((?!\.\.)([^)]+)\.md\)/.exec(line)
  if (!link) continue
  const items = pagesBelow(link[2]!)
  sidebar.at(-1)?.items?.push({
    text: link[1]!,
    link: `/${link[2]!}`,
    ...(items.length > 0 && { collapsed: true, items }),
  })
}
