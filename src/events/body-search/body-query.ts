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

/** Texts that JSON and forms spell in one way only: letters, digits and a few others. Forms write a space as `+` or `%20`. */
const plain = /[A-Za-z0-9_-]+/g
export const plainText = /^[A-Za-z0-9_-]*$/
/** The longest are taken. */
const mostNeedles = 8

/**
 * Bytes that each matching body contains, whatever the spelling of its strings: of all parts of the query, because a name that is
 * asked for is often in every body. Empty if the query has no such characters; each body is then parsed.
 */
export function needlesOf({ path = [], value, text }: BodyQuery): Buffer[] {
  const runsOf = (part = ''): readonly string[] => part.match(plain) ?? []
  const runs = [
    ...runsOf(text),
    ...(value !== undefined && isSpelledOtherwise(value) ? [] : runsOf(value)),
    ...runsOf(path.findLast((name) => !/^\d+$/.test(name))),
  ]
  return [...new Set(runs)]
    .toSorted((a, b) => b.length - a.length)
    .slice(0, mostNeedles)
    .map((run) => Buffer.from(run))
}

/** Whether it is a number that bodies contain in another form: `1.0` and `1e0` are 1. */
function isSpelledOtherwise(value: string): boolean {
  return value.trim() !== '' && !Number.isNaN(Number(value)) && String(Number(value)) !== value
}
