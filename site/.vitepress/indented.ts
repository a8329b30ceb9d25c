import type { MarkdownRenderer } from 'vitepress'

/** Indented blocks get the focus, as the theme does it for others: what does not fit is scrolled by keys. */
export function scrollByKeys(markdown: MarkdownRenderer): void {
  const block = markdown.renderer.rules.code_block!
  markdown.renderer.rules.code_block = (...about) => block(...about).replace('<pre', '<pre tabindex="0"')
}
