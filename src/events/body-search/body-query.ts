import { Problem } from '../../errors.ts'
import { optionalText } from '../../http/schemas/schemas.ts'
import { readText } from '../../paging/filter-parameters.ts'

/** What a body must contain. Both conditions must hold. */
export interface BodyQuery {
  /** The names of a field and of those that it is in; undefined for no condition. */
  path?: readonly string[]
  /** The field's value; without it, the field must exist. */
  value?: string
  /** A text anywhere in the body. */
  text?: string
}

export const bodyQuerySchema = {
  path: optionalText(
    'A field of the body, such as `data.customer`; an element of an array by its number, or all of them without one',
  ),
  value: optionalText('The value of that field; without it, the field must exist'),
  text: optionalText('A text in the body, case-sensitive'),
}

const mostNames = 20

/** @throws Problem `invalid-parameter` */
export function readBodyQuery({ path, value, text }: Record<string, string | undefined>): BodyQuery {
  const query: BodyQuery = {}
  if (path) {
    const names = readText(path, 'path').split('.')
    if (names.length > mostNames || names.includes(''))
      throw new Problem('invalid-parameter', {
        parameter: 'path',
        detail: `The parameter \`path\` has up to ${mostNames} names with dots between them.`,
      })
    query.path = names
    if (value !== undefined) query.value = readText(value, 'value')
  } else if (value)
    throw new Problem('invalid-parameter', {
      parameter: 'value',
      detail: 'The parameter `value` needs `path`.',
    })
  if (text) query.text = readText(text, 'text')
  return query
}

/**
 * Bytes that each matching body contains, whatever the spelling of its strings: JSON may write all characters but letters,
 * digits and a few others in several ways. Undefined if the value has no such characters; each body is then parsed.
 */
export function needleOf({ path = [], value, text }: BodyQuery): Buffer | undefined {
  const runs = [text, value, path.findLast((name) => !/^\d+$/.test(name))]
    .filter((part) => part !== undefined)
    .flatMap((part) => part.match(/[A-Za-z0-9_-]+/g) ?? [])
  const longest = runs.toSorted((a, b) => b.length - a.length)[0]
  return longest === undefined ? undefined : Buffer.from(longest)
}
