import { language } from '../../language/locale.ts'
import { setWords } from '../../language/words.ts'
import type { en, PortalWords, Words } from './en.ts'

/** Under the primary subtag of the page's language. Each is a file of its own. */
export const languages: Record<string, () => Promise<Words | typeof en>> = {
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  fr: async () => (await import('./fr.ts')).fr,
  es: async () => (await import('./es.ts')).es,
  pt: async () => (await import('./pt.ts')).pt,
  it: async () => (await import('./it.ts')).it,
  nl: async () => (await import('./nl.ts')).nl,
  pl: async () => (await import('./pl.ts')).pl,
  ja: async () => (await import('./ja.ts')).ja,
  zh: async () => (await import('./zh.ts')).zh,
}

/** The texts of the portal's own pages. */
export let portalWords: PortalWords

/** Loads the texts in the page's language, which `portalWords` and the shared parts then have. */
export async function loadWords(code = language.slice(0, 2)): Promise<void> {
  const table = await (languages[code] ?? languages['en']!)()
  portalWords = table.portal
  setWords(table)
}
