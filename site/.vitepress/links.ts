import type { MarkdownRenderer } from 'vitepress'

/** Links to files that the site leaves out (those of the repository, and the design decisions) become plain text. */
export function unlinkFilesOfRepository(markdown: MarkdownRenderer): void {
  markdown.core.ruler.after('inline', 'files-of-repository', ({ tokens, env }) => {
    const depth = ((env as { relativePath?: string }).relativePath ?? '').split('/').length - 1
    for (const { children } of tokens)
      for (const [at, token] of (children ?? []).entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (href === null || !(leaves(href, depth) || /(?:^|\/)adr\/|dependencies\.md$/.test(href))) continue
        const end = children!.findIndex(({ type }, index) => index > at && type === 'link_close')
        for (const one of [token, children![end]!])
          Object.assign(one, { type: 'text', content: '', tag: '', nesting: 0, attrs: null })
      }
  })
}

/** Whether a relative link leads out of docs/. */
function leaves(href: string, depth: number): boolean {
  const ups = /^(?:\.\.\/)*/.exec(href)![0].length / 3
  return ups > depth
}
