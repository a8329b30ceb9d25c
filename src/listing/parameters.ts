import { Problem } from '../errors.ts'
import { readPairs } from '../http/requests/parameters.ts'
import { readWholeNumber } from '../paging/parameters.ts'
import { countModesOf, shownFields, type ListDeclaration } from './list.ts'

/** The parameters of the query string; each one has a single value. */
export type Parameters = Readonly<Record<string, string>>

/** Most parameters that are read of one query string. */
const mostParameters = 100
/** Characters of a value in an error. */
const longestShown = 60

/**
 * Returns the function that reads the query string of a declared list. The values of a repeated filter of the kinds `in` and `notIn` are joined:
 * each `status=a,b` may list values, and each `status[]=a,b` is one value. Of another repeated parameter the first one counts.
 * A strict list refuses what would otherwise have no effect: a misspelled filter would select all rows.
 * @param known the names of all parameters that the call has
 * @param check checks those that are no filters, in strict lists
 */
export function parametersOf(
  list: ListDeclaration,
  known: readonly string[],
  check = checkChoices,
): (query: string) => Parameters {
  const listed = new Set(
    list.choices
      ? list.filters.filter(({ kind }) => kind === 'in' || kind === 'notIn').map(({ parameter }) => parameter)
      : [],
  )
  const names = new Set(known)
  return (query) => {
    const pairs = readPairs(query, mostParameters + 1)
    if (list.strict && pairs.length > mostParameters)
      throw invalid('parameters', `The query has more than ${mostParameters} parameters.`)
    const parameters: Record<string, string> = Object.create(null)
    for (const [name, value] of pairs.slice(0, mostParameters)) {
      const whole = name.endsWith('[]') && listed.has(name.slice(0, -2))
      const parameter = whole ? name.slice(0, -2) : name
      const text = whole ? `"${value.replaceAll('"', '""')}"` : value
      const before = parameters[parameter]
      if (list.strict && !names.has(parameter)) throw unknown(name, known)
      if (before === undefined) parameters[parameter] = text
      else if (listed.has(parameter)) parameters[parameter] = `${before},${text}`
      else if (list.strict) throw invalid(name, `The parameter \`${shown(name)}\` came twice.`)
    }
    if (list.strict) check(list, parameters)
    checkCsv(parameters)
    return parameters
  }
}

/** Parameters of CSV only. */
export const csvParameters = {
  bom: 'In CSV, `1` begins the text with a byte order mark, by which Excel recognizes UTF-8.',
  null: 'In CSV, the text of a cell without a value: up to 20 letters, digits, and \\ ( ) < > _ . -. Default: the empty cell.',
} as const

/** @throws Problem `invalid-parameter` for a mark of null that could be taken for something else, in every list */
function checkCsv({ bom = '1', null: mark = '' }: Parameters): void {
  if (bom !== '1') throw unreadable('bom', bom, '`1`')
  if (!/^(?:[\w\\(<][\w\\<>() .-]{0,19})?$/.test(mark))
    throw unreadable('null', mark, 'a mark of up to 20 letters, digits, and \\ ( ) < > _ . -')
}

/** Checks the parameters that are no filters. @throws Problem `invalid-parameter` */
function checkChoices(list: ListDeclaration, parameters: Parameters): void {
  for (const name of ['limit', 'page'])
    if (parameters[name] !== undefined && readWholeNumber(parameters[name]) === undefined)
      throw unreadable(name, parameters[name], 'a whole number from 1 on')
  checkNames(parameters, 'count', countModesOf(list), (text) => text)
  checkNames(parameters, 'sort', list.sort, (text) => text.replace(/^-/, ''))
  checkNames(parameters, 'fields', shownFields(list.fields), (text) => text)
  checkNames(
    parameters,
    'expand',
    list.expand.map(({ name }) => name),
    (text) => text,
  )
}

/** @param nameOf what of a part between commas must be one of `allowed` */
function checkNames(
  parameters: Parameters,
  parameter: string,
  allowed: readonly string[],
  nameOf: (part: string) => string,
): void {
  // Forms send the empty text for a field that nobody filled in.
  const parts = (parameters[parameter] || undefined)?.split(',').map((part) => part.trim())
  const wrong = parts?.find((part) => !allowed.includes(nameOf(part)))
  if (wrong !== undefined) throw unreadable(parameter, wrong, `one of ${allowed.join(', ')}`)
}

function unknown(name: string, known: readonly string[]): Problem {
  return invalid(
    name,
    `There is no parameter \`${shown(name)}\` here. The parameters are ${known.join(', ')}.`,
  )
}

/** @param allowed what the value must be, such as `an integer` */
export function unreadable(parameter: string, value: string, allowed: string): Problem {
  return invalid(
    parameter,
    `The parameter \`${parameter}\` has the value ${JSON.stringify(shown(value))}, which is not ${allowed}.`,
  )
}

function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid-parameter', { parameter: shown(parameter), detail })
}

function shown(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text
}
