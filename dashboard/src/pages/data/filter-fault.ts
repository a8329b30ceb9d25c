import { isNumber, isTime } from './field-types.ts'
import type { ListFilter } from './lists.ts'

/** Filters that take any text, or whose control allows nothing else. */
const anyText = new Set<ListFilter['operator']>([
  'prefix',
  'iprefix',
  'contains',
  'icontains',
  'search',
  'has',
  'flag',
  'null',
  'positiveWhenTrue',
])

/** What is wrong with a filter's value. A list that is not strict would ignore the filter. */
export function filterFault(filter: ListFilter, value: string): string | undefined {
  const isList = filter.operator === 'in' || filter.operator === 'notIn'
  const parts = isList ? value.split(',') : [value]
  return parts.map((part) => faultOf(filter, part.trim())).find((one) => one !== undefined)
}

function faultOf({ operator, type }: ListFilter, text: string): string | undefined {
  if (text === '' || anyText.has(operator)) return undefined
  if (isNumber(type) && !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return 'Enter a number.'
  if (type === 'date' && !isDate(text)) return 'Enter a date, such as 2026-01-31.'
  if (isTime(type) && Number.isNaN(Date.parse(text))) return 'Enter a time, such as 2026-01-31T08:30:00Z.'
  if (type === 'uuid' && !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return 'Enter a UUID.'
  return undefined
}

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
