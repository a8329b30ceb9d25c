import { weightsOf } from '../../requests/accept.ts'
import { de } from './de.ts'
import { en, type Words } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import { ja } from './ja.ts'
import { nl } from './nl.ts'
import { pl } from './pl.ts'
import { pt } from './pt.ts'
import { zh } from './zh.ts'

/** A language of the pages. */
export interface Language {
  /** The language tag (RFC 5646). */
  tag: string
  words: Words
}

/** Under the primary subtag, which alone is compared: `de-AT` gets German. English is the default. */
const languages = {
  en: { tag: 'en', words: en },
  de: { tag: 'de', words: de },
  fr: { tag: 'fr', words: fr },
  es: { tag: 'es', words: es },
  pt: { tag: 'pt-BR', words: pt },
  it: { tag: 'it', words: it },
  nl: { tag: 'nl', words: nl },
  pl: { tag: 'pl', words: pl },
  ja: { tag: 'ja', words: ja },
  zh: { tag: 'zh-Hans', words: zh },
} as const satisfies Record<string, Language>

type LanguageCode = keyof typeof languages

/** The tags, for `ui_locales_supported` of the discovery document. */
export const languageTags: readonly string[] = Object.values(languages).map(({ tag }) => tag)

/** Characters of `ui_locales` at most; a longer value is ignored. */
const longestLocales = 200

export function languageOf(code: string | undefined): Language {
  return code !== undefined && isCode(code) ? languages[code] : languages.en
}

/** The first supported language of `ui_locales`: tags in the order of preference (OpenID Connect Core, section 3.1.2.1). */
export function matchLocales(locales: string | undefined): LanguageCode | undefined {
  if (locales === undefined || locales.length > longestLocales) return undefined
  return firstSupported(locales.split(' '))
}

/** The supported language with the greatest weight in Accept-Language (RFC 9110, section 12.5.4). */
export function matchAccepted(header = ''): LanguageCode | undefined {
  const accepted = [...weightsOf(header)].filter(([, weight]) => weight > 0)
  return firstSupported(accepted.toSorted(([, one], [, other]) => other - one).map(([tag]) => tag))
}

function firstSupported(tags: readonly string[]): LanguageCode | undefined {
  return tags.map((tag) => tag.toLowerCase().split('-', 1)[0]!).find(isCode)
}

function isCode(text: string): text is LanguageCode {
  return Object.hasOwn(languages, text)
}

/** Joins sentences: Japanese and Chinese have no space between them. Empty ones are left out. */
export function sentences(languageTag: string, ...parts: string[]): string {
  return parts.filter((part) => part !== '').join(/^(?:ja|zh)/.test(languageTag) ? '' : ' ')
}

/** Puts values into the placeholders of a text. @param values HTML */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : placeholder,
  )
}
