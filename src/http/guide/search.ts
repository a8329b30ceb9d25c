import { marked, type Token, type Tokens } from 'marked'
import type { Contents } from './contents.ts'
import { plainText, slugOf } from './markdown.ts'

/** Characters and words of a query that count. */
const longestQuery = 100
const mostWords = 6
const mostResults = 20
/** Characters of a result's excerpt. */
const excerptLength = 180

export interface SearchResult {
  /** The title of the page. */
  title: string
  /** The heading of the section; empty for the beginning of the page. */
  section: string
  /** The path below the guide's, with the section's anchor. */
  path: string
  excerpt: string
}

interface Section {
  page: string
  title: string
  heading: string
  id: string
  text: string
  /** Lower case, for matching. */
  lowerTitle: string
  lowerHeading: string
  lowerText: string
}

/** Searches all sections of the guide for all words of a query. Words may be beginnings of words. */
export class GuideSearch {
  private readonly contents: Contents
  private sections: readonly Section[] | undefined

  constructor(contents: Contents) {
    this.contents = contents
  }

  /** The best sections first, at most twenty. An empty query finds nothing. */
  find(query: string): SearchResult[] {
    const words = query.slice(0, longestQuery).toLowerCase().split(/\s+/).filter(Boolean).slice(0, mostWords)
    if (words.length === 0) return []
    this.sections ??= this.index()
    const found: { section: Section; score: number }[] = []
    for (const section of this.sections) {
      let score = 0
      for (const word of words) {
        const one = Math.max(...formsOf(word).map((form) => scoreOf(section, form)))
        if (one === 0) {
          score = 0
          break
        }
        score += one
      }
      if (score > 0) {
        const weight = seldomRead.test(section.page) ? 0.5 : 1
        found.push({ section, score: weight * (score + phraseScore(section, words)) })
      }
    }
    return found
      .toSorted((a, b) => b.score - a.score)
      .slice(0, mostResults)
      .map(({ section }) => ({
        title: section.title,
        section: section.id === '' ? '' : section.heading,
        path: `${section.page}.html${section.id === '' ? '' : `#${section.id}`}`,
        excerpt: excerptOf(section, words),
      }))
  }

  private index(): Section[] {
    return [...this.contents.pages].flatMap((page) =>
      page === 'README' ? [] : sectionsOf(page, this.contents.read(page)),
    )
  }
}

const isWordStart = (text: string, at: number): boolean => at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]!)

/** 0 if the word is not in the section. Titles count more than text, beginnings of words more than middles, and short titles most. */
function scoreOf({ lowerTitle, lowerHeading, lowerText }: Section, word: string): number {
  for (const [text, weight] of [
    [lowerTitle, 12],
    [lowerHeading, 10],
  ] as const) {
    const at = text.indexOf(word)
    if (at >= 0) return (isWordStart(text, at) ? weight * 2 : weight) + (10 * word.length) / text.length
  }
  const at = lowerText.indexOf(word)
  return at < 0 ? 0 : isWordStart(lowerText, at) ? 4 : 2
}

/** Pages that name many subjects and explain few. */
const seldomRead = /^(?:security\/|comparison$)/

/** A word, and the same in the other number: retry and retries, secrets and secret. */
function formsOf(word: string): string[] {
  if (word.length < 4) return [word]
  if (word.endsWith('ies')) return [word, `${word.slice(0, -3)}y`]
  if (word.endsWith('y')) return [word, `${word.slice(0, -1)}ies`]
  return word.endsWith('s') ? [word, word.slice(0, -1)] : [word]
}

/** Words that stand beside each other count more. */
function phraseScore({ lowerTitle, lowerHeading, lowerText }: Section, words: readonly string[]): number {
  if (words.length < 2) return 0
  const phrase = words.join(' ')
  if (lowerTitle.includes(phrase) || lowerHeading.includes(phrase)) return 20
  return lowerText.includes(phrase) ? 8 : 0
}

function excerptOf({ text, lowerText }: Section, words: readonly string[]): string {
  const first = Math.min(...words.map((word) => lowerText.indexOf(word)).filter((at) => at >= 0))
  const begin = Number.isFinite(first) ? Math.max(0, first - 60) : 0
  const cut = text.slice(begin, begin + excerptLength)
  return `${begin > 0 ? '…' : ''}${cut}${begin + excerptLength < text.length ? '…' : ''}`
}

function sectionsOf(page: string, text: string): Section[] {
  const taken = new Map<string, number>()
  const sections: { heading: string; id: string; text: string[] }[] = []
  for (const token of marked.lexer(text)) {
    if (token.type === 'heading') {
      const heading = plainText((token as Tokens.Heading).tokens)
      const id = slugOf(heading, taken)
      sections.push({ heading, id: sections.length === 0 ? '' : id, text: [] })
    } else sections.at(-1)?.text.push(textOf(token))
  }
  const title = sections[0]?.heading ?? page
  return sections.map(({ heading, id, text: parts }) => {
    const joined = parts.join(' ').replaceAll(/\s+/g, ' ').trim()
    return {
      page,
      title,
      heading,
      id,
      text: joined,
      lowerTitle: id === '' ? title.toLowerCase() : '',
      lowerHeading: heading.toLowerCase(),
      lowerText: joined.toLowerCase(),
    }
  })
}

/** The text of a block: paragraphs, list items, table cells and code. */
function textOf(token: Token): string {
  if (token.type === 'list')
    return (token as Tokens.List).items.map((item) => item.tokens.map(textOf).join(' ')).join(' ')
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [header, ...rows].flatMap((row) => row.map((cell) => plainText(cell.tokens))).join(' ')
  }
  if (token.type === 'html' || token.type === 'space') return ''
  return plainText([token])
}
