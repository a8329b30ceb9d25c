import { hash } from 'node:crypto'
import { renderMermaidSVG } from 'beautiful-mermaid'
import type { MarkdownRenderer } from 'vitepress'

/**
 * Blocks of the language `mermaid` become pictures in the page: no script runs in the browser. Their colours and their font are in
 * `theme/diagrams.css`, because the service's policy forbids elements of style.
 * @throws if a block is no diagram that the package can draw
 */
export function drawDiagrams(markdown: MarkdownRenderer): void {
  const code = markdown.renderer.rules.fence!
  markdown.renderer.rules.fence = (tokens, at, options, env, self) => {
    const { info, content } = tokens[at]!
    if (info.trim() !== 'mermaid') return code(tokens, at, options, env, self)
    const page = (env as { relativePath?: string }).relativePath
    try {
      return `<figure class="diagram" tabindex="0" v-pre>${picture(content)}</figure>\n`
    } catch (error) {
      throw new Error(`${page}: a mermaid block is no diagram: ${(error as Error).message}`, { cause: error })
    }
  }
}

function picture(source: string): string {
  const svg = renderMermaidSVG(source, { transparent: true, padding: 8 })
  // The ids of arrow heads are the same in all pictures, but must be unique in a page.
  const prefix = `d${hash('sha256', source, 'hex').slice(0, 8)}-`
  const [width] = /(?<= width=")[\d.]+/.exec(svg)!
  return (
    svg
      .replaceAll(/<style>[^]*?<\/style>\s*/g, '')
      .replaceAll(/ data-[\w-]+="[^"]*"/g, '')
      .replaceAll(/(?<= id="|url\(#)/g, prefix)
      // Narrow screens shrink a picture to three fifths; then it scrolls, so that its text stays readable.
      .replace(/ style="[^"]*"/, ` style="--width:${Math.ceil(Number(width))}px"`)
      .replaceAll(/\d+\.\d{2,}/g, (number) => String(Math.round(Number(number) * 10) / 10))
      .replaceAll(/\n\s*/g, '')
  )
}
