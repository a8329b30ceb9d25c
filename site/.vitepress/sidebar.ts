import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'

const contents = readFileSync(join(import.meta.dirname, '../../docs/README.md'), 'utf8')

/** The sidebar follows the table of contents in docs/README.md: each paragraph that ends with a colon is a group. */
export const sidebar: DefaultTheme.SidebarItem[] = []
for (const line of contents.split('\n')) {
  const heading = /^([A-Z][^:]*)(?:, [^:]*)?:$/.exec(line)
  if (heading) sidebar.push({ text: heading[1]!, collapsed: false, items: [] })
  const link = /^- \[([^\]]+)\]\((?!\.\.)([^)]+)\.md\)/.exec(line)
  if (link) sidebar.at(-1)?.items?.push({ text: link[1]!, link: `/${link[2]!}` })
}
