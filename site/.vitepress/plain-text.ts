import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SiteConfig } from 'vitepress'
import { sidebar } from './sidebar.ts'

/** The icon of the service. For machines: each page as Markdown beside its HTML, and llms.txt, which lists them (llmstxt.org). */
export function writePlainText({ pages, srcDir, outDir, rewrites, site }: SiteConfig): void {
  cpSync(join(srcDir, '../src/http/pages/assets/icon.svg'), join(outDir, 'icon.svg'))
  for (const page of pages) {
    const target = join(outDir, rewrites.map[page] ?? page)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(srcDir, page), target)
  }
  const lines = [`# ${site.title}`, '', `> ${site.description}`]
  for (const { text, items = [] } of sidebar) {
    lines.push('', `## ${text}`, '')
    for (const { text: title, link, items: below = [] } of items)
      for (const [indent, name, path] of [
        ['', title, link] as const,
        ...below.map((one) => ['  ', one.text, one.link] as const),
      ])
        lines.push(`${indent}- [${name}](${site.base}${path!.slice(1)}.md)`)
  }
  writeFileSync(join(outDir, 'llms.txt'), `${lines.join('\n')}\n`)
}
