import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What is written by hand of a generated page: title, introduction, and sections by their headings. */
export interface Parts {
  title: string
  introduction: string
  /** Empty if the file has no such section. */
  section: (name: string) => string
  /** The lines of a section that are rows of a table. */
  rows: (name: string) => string
}

export function readParts(folder: string, name: string): Parts {
  const text = readFileSync(join(import.meta.dirname, folder, `${name}.md`), 'utf8')
  const [head, ...chunks] = text.split(/^## /m)
  const [title = '', ...introduction] = head!.split('\n')
  const sections = new Map(
    chunks.map((chunk) => {
      const end = chunk.indexOf('\n')
      return [chunk.slice(0, end), chunk.slice(end).trim()]
    }),
  )
  const section = (wanted: string): string => sections.get(wanted) ?? ''
  return {
    title: title.slice('# '.length),
    introduction: introduction.join('\n').trim(),
    section,
    rows: (wanted) => section(wanted).replace(/(?<=\|)$/, '\n'),
  }
}

/** A table with rows of Markdown; nothing without rows. */
export const tableOf = (columns: readonly string[], rows: string): string =>
  rows === '' ? '' : `| ${columns.join(' | ')} |\n| ${columns.map(() => '---').join(' | ')} |\n${rows}\n`

/** Text blocks with an empty line between them. */
export const joined = (...blocks: readonly string[]): string =>
  `${blocks
    .map((block) => block.trim())
    .filter((block) => block !== '')
    .join('\n\n')}\n`

export const mark = (folder: string, name: string): string => `<!-- scripts/${folder}/${name}.md -->`
