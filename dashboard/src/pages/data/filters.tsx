import { ChoicesField, FilterBar, type Filter } from '../../ui/index.ts'
import { isTime } from './field-types.ts'
import { filterFault } from './filter-fault.ts'
import type { ListDescription, ListFilter } from './lists.ts'

const words: Record<ListFilter['operator'], string> = {
  equals: 'is',
  in: 'is one of',
  atLeast: 'at least',
  above: 'above',
  atMost: 'at most',
  below: 'below',
  prefix: 'begins with',
  iprefix: 'begins with (any case)',
  contains: 'contains',
  icontains: 'contains (any case)',
  not: 'is not',
  notIn: 'is not one of',
  has: 'has',
  flag: 'is',
  null: 'is missing',
  positiveWhenTrue: 'above 0',
  search: 'contains the words',
}

const ofTexts = new Set<ListFilter['operator']>(['search', 'prefix', 'iprefix', 'contains', 'icontains'])

/** A comparison is named by its field; a flag, a search, and a parameter with a meaning of its own by the parameter. */
function labelOf({ parameter, operator, field }: ListFilter): string {
  const isNamed = ofTexts.has(operator) || operator === 'flag'
  return field === null || (isNamed && parameter !== field) ? parameter : `${field} ${words[operator]}`
}

/** The filters that a list declares. */
export function Filters({ list: { filters } }: { list: ListDescription }) {
  return filters.length > 0 && <FilterBar label="Filters" filters={filters.map(filterOf)} />
}

function filterOf(filter: ListFilter): Filter {
  const { operator, type, values, parameter, description } = filter
  const common = { name: `f.${parameter}`, label: labelOf(filter), title: description }
  const options = optionsOf(filter)
  if (options) return { ...common, options }
  const isList = operator === 'in' || operator === 'notIn'
  if (isList && values)
    return {
      ...common,
      input: (value, onChange) => (
        <ChoicesField
          {...common}
          values={values}
          chosen={values.filter((one) => new Set(listedValues(value)).has(one))}
          onChange={(chosen) => onChange(chosen.map(quoted).join(','))}
        />
      ),
    }
  if (isTime(type) && operator !== 'equals' && operator !== 'not' && !isList)
    return { ...common, type: 'time' }
  return {
    ...common,
    placeholder: isList ? 'a,b' : undefined,
    check: (value) => filterFault(filter, value),
  }
}

/** A value with a comma stands in double quotes, as in CSV. */
function quoted(value: string): string {
  return /[",]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

function listedValues(text: string): string[] {
  const parts = text.matchAll(/"((?:[^"]|"")*)"(?:,|$)|([^,]+)/g)
  return Array.from(parts, ([, inQuotes, plain = '']) => inQuotes?.replaceAll('""', '"') ?? plain.trim())
}

/** The choices of a filter with few values; `undefined` for one that is typed. */
function optionsOf({ operator, type, values }: ListFilter): { value: string; label: string }[] | undefined {
  const any = { value: '', label: 'any' }
  if (operator === 'flag' || operator === 'null' || (operator === 'equals' && type === 'boolean'))
    return [any, { value: 'true', label: 'yes' }, { value: 'false', label: 'no' }]
  if (operator === 'positiveWhenTrue') return [any, { value: 'true', label: 'yes' }]
  if (operator === 'equals' && values) return [any, ...values.map((value) => ({ value, label: value }))]
  return undefined
}
