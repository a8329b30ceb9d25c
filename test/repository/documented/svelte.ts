import { markupFaultOf } from './markup.ts'

const script = /<script[^>]*>([^]*?)<\/script>/g
/** A block of the template, or an expression; Svelte's blocks nest, braces of the pages' expressions do not. */
const braces = /\{([#:/@])?([^{}]*)\}/g

/** What the compiler of Svelte gives a component. */
const runes = 'declare function $props(): any\n'

/** The markup of a component, without what TypeScript reads. */
const markupOf = (text: string): string => text.replaceAll(script, '')

/** What is wrong with the elements and the blocks of a component, if anything. */
export function svelteFaultOf(text: string): string | undefined {
  const open: string[] = []
  for (const [all, mark, words = ''] of markupOf(text).matchAll(braces)) {
    const name = words.trim().split(' ')[0]!
    if (mark === '#') open.push(name)
    else if (mark === ':' && open.length === 0) return `${all} is in no block`
    else if (mark === '/' && open.at(-1) !== name) return `${all} closes ${open.at(-1)}`
    else if (mark === '/') open.pop()
  }
  if (open.length > 0) return `{#${open.join()}} stays open`
  return markupFaultOf(text.replaceAll(braces, '""').replaceAll('=""""', '=""'))
}

/** A program with the scripts of a component and the expressions of its markup. */
export function programOf(text: string): string {
  const scripts = [...text.matchAll(script)].map(([, code]) => code).join('\n')
  const expressions = [...markupOf(text).matchAll(braces)]
    .map(([, mark, words = '']) => {
      if (mark === undefined) return words
      return /^(?:if|else if|key|html) (.*)/.exec(words)?.[1] ?? ''
    })
    .filter((expression) => expression !== '')
  return `${runes}${scripts}\nexport const markup = () => [\n${expressions.map((one) => `(${one})`).join(',\n')}\n]\n`
}
