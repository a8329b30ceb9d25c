import assert from 'node:assert/strict'
import { test } from 'node:test'
import { languageTags } from '../../../../src/http/pages/language/languages.ts'
import { en } from './en.ts'
import { languages } from './load.ts'

const texts = (tree: object, path = ''): [path: string, text: string][] =>
  Object.entries(tree).flatMap(([name, value]: [string, string | object]): [string, string][] =>
    typeof value === 'string' ? [[`${path}.${name}`, value]] : texts(value, `${path}.${name}`),
  )
const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted()

/** English has the service's own messages, and each language its own plural forms. */
const isOwn = (path: string): boolean =>
  /^\.(?:problems|advice|statuses|replays\.stopConsequence)\./.test(path)
const codes = languageTags.map((tag) => tag.slice(0, 2))

test('the portal has the languages of the other pages', () => {
  assert.deepEqual(Object.keys(languages), codes)
})

const german = await languages['de']!()
for (const [index, code] of codes.entries())
  test(`${code}: each text with the placeholders of the English one`, async () => {
    const table = await languages[code]!()
    const found = texts(table)
    for (const [path, text] of found) assert.match(text, /^\S(?:.*\S)?$/, path)
    const shown = (tree: object) =>
      texts(tree)
        .filter(([path]) => !isOwn(path))
        .map(([path, text]) => [path, placeholders(text)])
    assert.deepEqual(shown(table), shown(en))
    const forms = new Intl.PluralRules(languageTags[index]).resolvedOptions().pluralCategories
    assert.deepEqual(Object.keys(table.replays.stopConsequence).toSorted(), forms.toSorted())
    for (const text of Object.values(table.replays.stopConsequence))
      assert.deepEqual(placeholders(text), ['{left}', '{total}'])
    if (code === 'en') return
    for (const group of ['statuses', 'problems', 'advice'] as const)
      assert.deepEqual(
        texts(table[group]).map(([path, text]) => [path, placeholders(text)]),
        texts(german[group]).map(([path, text]) => [path, placeholders(text)]),
      )
  })
