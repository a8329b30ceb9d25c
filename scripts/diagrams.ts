import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash } from 'node:crypto'
import { renderMermaidSVG } from 'beautiful-mermaid'
import { diagramFile } from '../src/http/guide/markdown.ts'

const docs = join(import.meta.dirname, '../docs')

/** Drawings of all `mermaid` blocks of the guide, by their path below docs/. No script draws in the browser, and none at a start. */
export function drawings(): Map<string, string> {
  const found = new Map<string, string>()
  for (const page of globSync('**/*.md', { cwd: docs }))
    for (const [, source] of readFileSync(join(docs, page), 'utf8').matchAll(/^```mermaid\n([^]*?)^```$/gm))
      found.set(diagramFile(source!), draw(source!, page))
  return found
}

/** Colors come from guide.css, because the content security policy forbids elements of style. */
function draw(source: string, page: string): string {
  const svg = renderOrThrow(source, page)
  // The ids of arrow heads are the same in all drawings, but must be unique in a page.
  const prefix = `d${hash('sha256', source, 'hex').slice(0, 8)}-`
  return `${svg
    .replaceAll(/<style>[^]*?<\/style>\s*/g, '')
    .replaceAll(/ (?:data-[\w-]+|style)="[^"]*"/g, '')
    .replaceAll(/(?<= id="|url\(#)/g, prefix)
    .replaceAll(/\d+\.\d{2,}/g, (number) => String(Math.round(Number(number) * 10) / 10))
    .replaceAll(/\n\s*/g, '')}\n`
}

function renderOrThrow(source: string, page: string): string {
  try {
    return renderMermaidSVG(source, { transparent: true, padding: 8 })
  } catch (cause) {
    throw new Error(`docs/${page}: a mermaid block cannot be drawn: ${(cause as Error).message}`, { cause })
  }
}
