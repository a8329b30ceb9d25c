import assert from 'node:assert/strict'
import { test } from 'node:test'
import { en } from './en.ts'
import { fill, languageOf, languageTags, matchAccepted, matchLocales, sentences } from './languages.ts'

const codes = ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl', 'ja', 'zh']

type Tree = { [name: string]: string | Tree }

function texts(tree: Tree, path = ''): [path: string, text: string][] {
  return Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'string'
      ? [[`${path}.${name}`, value] as [string, string]]
      : texts(value, `${path}.${name}`),
  )
}

const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted()

test('there are ten languages with their tags', () => {
  assert.deepEqual(languageTags, ['en', 'de', 'fr', 'es', 'pt-BR', 'it', 'nl', 'pl', 'ja', 'zh-Hans'])
  for (const [index, code] of codes.entries()) assert.equal(languageOf(code).tag, languageTags[index])
  for (const code of [undefined, '', 'xx', 'constructor', '__proto__'])
    assert.equal(languageOf(code).tag, 'en')
})

for (const code of codes)
  test(`${code}: each text has the placeholders of the English one, and nothing to escape`, () => {
    const originals = new Map(texts(en))
    const translated = texts(languageOf(code).words)
    assert.equal(translated.length, originals.size)
    // The address cannot be declined, so Polish names the provider once.
    const exceptions = new Set(code === 'pl' ? ['.signIn.moveProvider'] : [])
    for (const [path, text] of translated) {
      assert.match(text, /\S/, path)
      assert.doesNotMatch(text, /[<>&"']|\s$|^\s/, path)
      const expected = placeholders(originals.get(path)!)
      const found = placeholders(text)
      assert.deepEqual(
        exceptions.has(path) ? [...new Set(found)] : found,
        exceptions.has(path) ? [...new Set(expected)] : expected,
        path,
      )
    }
  })

test('ui_locales: the first supported language, by its primary subtag', () => {
  const cases: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['de', 'de'],
    ['DE-at', 'de'],
    ['sv fr-CA de', 'fr'],
    ['zh-Hant-TW', 'zh'],
    ['pt-PT', 'pt'],
    ['xx yy', undefined],
    ['deu', undefined],
    ['constructor', undefined],
    ['<script>', undefined],
    [`${'x '.repeat(150)}de`, undefined],
  ]
  for (const [locales, expected] of cases) assert.equal(matchLocales(locales), expected, String(locales))
})

test('Accept-Language: the supported language with the greatest weight', () => {
  const cases: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['*', undefined],
    ['de-DE,de;q=0.9,en;q=0.8', 'de'],
    ['en;q=0.5, ja;q=0.9', 'ja'],
    ['fr;q=0, it;q=0.1', 'it'],
    ['sv, da;q=0.8, nl;q=0.7', 'nl'],
    ['pl;q=x, es;q=0.2', 'es'],
    ['en-US', 'en'],
    ['__proto__', undefined],
    [`${'xx,'.repeat(5_000)}de`, undefined],
  ]
  for (const [header, expected] of cases) assert.equal(matchAccepted(header), expected, String(header))
})

test('a value is put into a text as it is, also one with the form of a placeholder', () => {
  assert.equal(fill('a {x} b {y}', { x: '{y} $& <b>', y: '1' }), 'a {y} $& <b> b 1')
  assert.equal(fill('{constructor}', {}), '{constructor}')
})

test('sentences have a space between them, except in Japanese and Chinese', () => {
  assert.equal(sentences('de', 'A.', '', 'B.'), 'A. B.')
  assert.equal(sentences('ja', 'A。', 'B。'), 'A。B。')
  assert.equal(sentences('zh-Hans', 'A。', 'B。'), 'A。B。')
})
