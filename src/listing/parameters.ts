import { Problem } from '../errors.ts'
import { readPairs } from '../http/requests/parameters.ts'
import { invalidParameter, readWholeNumber } from '../paging/parameters.ts'
import { countModesOf, shownFields, operators, type ListDeclaration } from './list.ts'

/** The parameters of the query string; each one has a single value. */
export type Parameters = Readonly<Record<string, string>>

/** Most parameters that are read from one query string. */
const mostParameters = 100
/** Most values of one filter. */
export const maxFilterValues = 50
/** Most characters of a name or value in an error. */
const longestShown = 60

/**
 * Returns the function that reads the query string of a declared list. A repeated filter of the kinds `in` and `notIn` has the values
 * of all its parameters: `status=a,b` has two values, `status[]=a,b` one. Of other repeated parameters, the first one counts.
 * A strict list rejects what would otherwise have no effect: a misspelled filter would select all rows.
 * @param known the names of all parameters of the endpoint
 * @param check checks the parameters that are not filters, in strict lists
 */
export function parametersOf(
  list: ListDeclaration,
  known: readonly string[],
  check = checkChoices,
): (query: string) => Parameters {
  const listed = new Set(
    list.filters
      .filter(({ kind }) => list.choices && operators[kind].takes === 'values')
      .map(({ parameter }) => parameter),
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
      const isJoinable = !listed.has(parameter) || (!whole && !/["\\]/.test(value))
      // Joined as it is, a quote that is not closed or a backslash at the end would take in the comma and the next value.
      const text = isJoinable ? value : (whole ? [value] : listedValues(value, name)).map(inQuotes).join(',')
      const before = parameters[parameter]
      if (list.strict && !names.has(parameter))
        throw invalid(
          name,
          `There is no parameter \`${shown(name)}\` here. The parameters are ${known.join(', ')}.`,
        )
      if (before === undefined) parameters[parameter] = text
      else if (listed.has(parameter)) parameters[parameter] = `${before},${text}`
      else if (list.strict) throw invalid(name, `The parameter \`${shown(name)}\` came twice.`)
    }
    if (list.strict) check(list, parameters)
    checkCsv(parameters)
    return parameters
  }
}

/** A value up to the next comma: in double quotes, as in CSV, or a text in which `\,` is a comma. */
const listedValue = /\s*"((?:[^"]|"")*)"\s*(?:,|$)|((?:\\,|[^,])*)(?:,|$)/gy

/**
 * Splits comma-separated values. Blanks around them do not count, nor do empty ones; the empty parameter is the empty text. In double
 * quotes, a value may have commas and blanks at its ends, and may be empty; a quote within it is doubled. `\,` is a comma, too.
 * @throws Problem `invalid-parameter` for too many values
 */
export function listedValues(text: string, parameter: string): string[] {
  if (text === '') return [text]
  const values: string[] = []
  for (const [, quoted, plain = ''] of text.matchAll(listedValue)) {
    const value = quoted?.replaceAll('""', '"') ?? plain.replaceAll('\\,', ',').trim()
    if (quoted !== undefined || value !== '') values.push(value)
    if (values.length > maxFilterValues)
      throw invalidParameter(parameter, `has more than ${maxFilterValues} values. Send several requests`)
  }
  return values
}

const inQuotes = (value: string): string => `"${value.replaceAll('"', '""')}"`

/** The parameters of CSV, with their descriptions. */
export const csvParameters = {
  bom: 'In CSV, `1` adds a byte order mark, from which Excel recognizes UTF-8.',
  null: 'In CSV, the text of a null cell: up to 20 letters, digits, spaces, and \\ ( ) < > _ . -. Default: an empty cell.',
} as const

/**
 * In every list, strict or not.
 * @throws Problem `invalid-parameter`, also for a text of null that could change the CSV or be a formula
 */
function checkCsv({ bom = '1', null: nullText = '' }: Parameters): void {
  if (bom !== '1') throw unreadable('bom', bom, '`1`')
  if (!/^(?:[\w\\(<][\w\\<>() .-]{0,19})?$/.test(nullText))
    throw unreadable('null', nullText, 'a text of up to 20 letters, digits, spaces, and \\ ( ) < > _ . -')
}

/** Checks the parameters that are not filters. @throws Problem `invalid-parameter` */
function checkChoices(list: ListDeclaration, parameters: Parameters): void {
  for (const name of ['limit', 'page'])
    if (parameters[name] !== undefined && readWholeNumber(parameters[name]) === undefined)
      throw unreadable(name, parameters[name], 'a positive integer')
  allowedNames(parameters, 'count', countModesOf(list))
  allowedNames(parameters, 'sort', list.sort, (text) => text.replace(/^-/, ''))
  const { sort = '' } = parameters
  if (sort.includes('.') && sort.includes(','))
    throw unreadable('sort', sort, 'a field of another table alone, or one or more fields of the list')
  allowedNames(parameters, 'fields', shownFields(list.fields))
  const expansions = list.expand.map(({ name }) => name)
  allowedNames(parameters, 'expand', expansions)
}

/**
 * The comma-separated names of a parameter.
 * @param nameOf returns the name in one of the parts
 * @throws Problem `invalid-parameter` for one that is not allowed
 */
export function allowedNames(
  parameters: Parameters,
  parameter: string,
  allowed: readonly string[],
  nameOf = (part: string): string => part,
): string[] {
  // Forms send the empty text for a field that nobody filled in.
  if (!parameters[parameter]) return []
  const parts = parameters[parameter].split(',').map((part) => part.trim())
  const wrong = parts.find((part) => !allowed.includes(nameOf(part)))
  if (wrong === undefined) return parts
  throw unreadable(parameter, wrong, allowed.length > 0 ? `one of ${allowed.join(', ')}` : 'possible here')
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

/** The beginning of a text, for an error. */
export function shown(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text
}
