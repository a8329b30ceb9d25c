import type { PosternError } from 'postern-client/api'
import { createElement, Fragment, type ReactNode } from 'react'
import type { Plural, SharedWords } from './english.ts'
import { language } from './locale.ts'

/** The texts of shared parts. The page's entry sets them before it renders; read them while rendering, not when a module is loaded. */
export let words: SharedWords

export function setWords(table: SharedWords): void {
  words = table
}

/** Puts values into the placeholders of a text. */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder))

/** Puts elements into the placeholders of a text. */
export const fillNodes = (text: string, values: Readonly<Record<string, ReactNode>>): ReactNode =>
  text
    .split(/\{(\w+)\}/)
    .map((part, index) => createElement(Fragment, { key: index }, index % 2 === 0 ? part : values[part]))

/** The form of a text for a number. */
export const pluralOf = (forms: Plural, count: number): string =>
  forms[new Intl.PluralRules(language).select(count)] ?? forms.other

/** What a failed call says to the reader. */
export function problemText({ code, message }: Pick<PosternError, 'code' | 'message'>): string {
  const text = words.problems[code]
  return text === undefined ? message : fill(text, { detail: message })
}
