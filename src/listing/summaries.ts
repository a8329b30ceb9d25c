import { Problem } from '../errors.ts'
import type { Principal } from '../http/access/principal.ts'
import { rawQuery } from '../http/requests/parameters.ts'
import type { KeyValue } from '../paging/cursor.ts'
import type { Engine } from '../storage/query-runner.ts'
import { inTime, quote, quoteTable } from '../storage/sql-text.ts'
import type { List, SummaryOptions } from './config.ts'
import { fieldTypes, words, type FieldType, type TypeRules } from './field-types.ts'
import { showValue } from './items.ts'
import { fieldOf, type Field, type ListDeclaration } from './list.ts'
import { allowedNames, parametersOf } from './parameters.ts'
import { filterConditions, type Plan, readColumn, Statement, where } from './plan.ts'
import { type Query, readQuery } from './query.ts'
import type { ListReader, Row } from './standby-reader.ts'

/** Groups of an answer at most. */
export const mostGroups = 1_000
/** Milliseconds that the statement of a summary may take. */
const timeLimit = 5_000

const functions = ['sum', 'avg', 'min', 'max'] as const
type SummaryFunction = (typeof functions)[number]
/** The units of times: how many characters of an ISO 8601 time they have, the rest of their first day, and its format. */
const formats = {
  day: [10, '', '%Y-%m-%d'],
  month: [7, '-01', '%Y-%m-01'],
  year: [4, '-01-01', '%Y-01-01'],
} as const
type Unit = keyof typeof formats

const numbers: readonly FieldType[] = ['integer', 'bigint', 'number', 'real', 'numeric']
const times: readonly FieldType[] = ['time', 'milliseconds', 'timestamp', 'timeText', 'date']
const ordered = [...numbers, ...times]
const groupable: readonly FieldType[] = ['text', 'enum', 'uuid', 'integer', 'bigint', 'boolean', ...times]
/** The types of fields that a summary may have. */
const summarizedTypes = { by: groupable, sum: numbers, avg: numbers, min: ordered, max: ordered }

/** The values that each parameter of a summary may have: of times `createdAt:day`. */
export function summaryChoices({
  fields,
  summaries,
}: ListDeclaration): Record<keyof SummaryOptions, string[]> {
  const { by, sum, avg, min, max } = summaries!
  const groups = by.flatMap((name) =>
    times.includes(fields[name]!.type) ? Object.keys(formats).map((unit) => `${name}:${unit}`) : [name],
  )
  return { by: groups, sum: [...sum], avg: [...avg], min: [...min], max: [...max] }
}

/** Runs the statement of a request. @throws Problem `too-slow`, or `invalid-parameter` for a sum that overflows */
type ReadSummary = () => Promise<{ data: object[]; hasMore: boolean }>

/**
 * Returns the function that reads requests for summaries of a list. Names of fields are checked also if the list is not strict, because
 * an answer without a group is another answer.
 * @param known the names of all parameters that the call has
 */
export function summariesOf(
  list: ListDeclaration,
  known: readonly string[],
  { engine, reader }: { engine: Engine; reader: ListReader },
): (request: { url: string; caller: Principal | undefined }) => ReadSummary {
  const readParameters = parametersOf(list, known, () => undefined)
  const choices = summaryChoices(list)
  return ({ url, caller }) => {
    const parameters = readParameters(rawQuery(url))
    const query = readQuery(list, parameters, caller)
    const namesOf = (parameter: 'by' | SummaryFunction): string[] => [
      ...new Set(allowedNames(parameters, parameter, choices[parameter])),
    ]
    const groups = namesOf('by').map((name) => groupOf(list, name, engine))
    const measures = functions.flatMap((kind) =>
      namesOf(kind).map((name) => measureOf(list, kind, name, engine)),
    )
    const counted = allowedNames(parameters, 'count', ['1']).length > 0 || measures.length === 0
    const plan = planSummary(query, { groups, measures }, engine)
    const present = (row: Row): object => {
      let next = 1
      const take = (count: number): KeyValue[] => row.slice(next, (next += count))
      const values: Record<string, Record<string, unknown>> = {}
      for (const { kind, name, columns, show } of measures)
        (values[kind] ??= {})[name] = show(...take(columns.length))
      const by = Object.fromEntries(groups.map(({ name, show }) => [name, showValue(take(1)[0]!, show)]))
      return { by, ...(counted && { count: Number(row[0]) }), ...values }
    }
    return async () => {
      // Without groups, a summary of no rows is one line.
      const none =
        groups.length > 0 ? [] : [[0, ...measures.flatMap(({ columns }) => columns.map(() => null))]]
      const rows = query.empty ? none : await inLimit(reader.read(plan, query.values, query))
      return { data: rows.slice(0, mostGroups).map(present), hasMore: rows.length > mostGroups }
    }
  }
}

function planSummary(
  { list, filters }: Query,
  { groups, measures }: { groups: readonly Group[]; measures: readonly Measure[] },
  engine: Engine,
): Plan {
  const statement = new Statement(engine)
  const conditions = filterConditions(list, filters, statement)
  if (engine === 'sqlite') conditions.unshift(inTime)
  const shown = [
    'count(*)',
    ...measures.flatMap(({ columns }) => columns),
    ...groups.map(({ column }) => column),
  ]
  const keys = groups.map(({ key }) => key)
  const order = keys.map((key) => `${key} nulls last`)
  const grouped = ` group by ${keys.join(', ')} order by ${order.join(', ')} limit ${mostGroups + 1}`
  const rows = `from ${quoteTable(list.table)}${where(conditions)}${keys.length > 0 ? grouped : ''}`
  return { ...statement.plan(`select ${shown.join(', ')} ${rows}`), within: timeLimit }
}

/** SQLITE_INTERRUPT, and PostgreSQL's query_canceled. */
const interrupted = new Set<unknown>([9, '57014'])
/** PostgreSQL's numeric_value_out_of_range: SQLite computes infinity instead, which is shown as null. */
const overflow = '22003'

async function inLimit<T>(rows: Promise<T>): Promise<T> {
  try {
    return await rows
  } catch (error) {
    const { code, errcode, cause } = error as {
      code?: string
      errcode?: number
      cause?: { code?: string }
    }
    if (code === overflow) {
      const detail = 'A sum or average is too large. Use filters that select fewer rows.'
      throw new Problem('invalid-parameter', { detail, cause: error })
    }
    if (!interrupted.has(errcode) && !interrupted.has(cause?.code)) throw error
    const detail = `The summary took longer than ${timeLimit / 1_000} seconds and was stopped.`
    throw new Problem('too-slow', { detail, cause: error })
  }
}

/** What rows are grouped and ordered by, and the column that shows it. Texts are equal if their bytes are, as items show them. */
interface Group {
  name: string
  key: string
  column: string
  show: TypeRules['show']
}

function groupOf(list: ListDeclaration, name: string, engine: Engine): Group {
  const [fieldName, unit] = name.split(':') as [string, Unit | undefined]
  const field = fieldOf(list, fieldName)
  const column = quote(field.column)
  const by = (key: string, shown = key): Group => ({
    name,
    key,
    column: shown,
    show: fieldTypes[field.type].show,
  })
  if (unit) return { ...by(unitOf(field, unit, engine)), show: undefined }
  if (engine === 'postgres')
    return by(['text', 'enum', 'uuid'].includes(field.type) ? `${column}::text collate "C"` : column)
  if (!field.words) return by(`${column} collate binary`, readColumn(field, engine))
  const [yes, no] = [words.true, words.false].map((texts) => texts.map((text) => `'${text}'`).join(', '))
  return by(`case when ${column} in (${yes}) then 1 when ${column} in (${no}) then 0 else ${column} end`)
}

/** The first day, in UTC, of the day, month or year of a time. Of milliseconds, years have four digits. */
function unitOf({ column: name, type, stored }: Field, unit: Unit, engine: Engine): string {
  const [length, rest, format] = formats[unit]
  const column = quote(name)
  const ofText = `substr(${column}, 1, ${length}) || '${rest}'`
  const inRange = (day: string): string =>
    `case when ${column} between -62135596800000 and 253402300799999 then ${day} end`
  if (type === 'time') return engine === 'postgres' ? `(${ofText}) collate "C"` : ofText
  if (engine === 'postgres') {
    const first = (time: string): string => `date_trunc('${unit}', ${time})::date`
    if (type === 'date') return first(`${column}::timestamp`)
    if (type === 'milliseconds') return inRange(first(`to_timestamp(${column} / 1000.0) at time zone 'UTC'`))
    return first(stored ? column : `${column} at time zone 'UTC'`)
  }
  if (type === 'milliseconds') return inRange(`strftime('${format}', ${column} / 1000.0, 'unixepoch')`)
  if (type === 'date' || stored) return ofText
  // Texts of several forms may have several time zones.
  return `coalesce(case when ${column} glob '[0-9][0-9][0-9][0-9]-*' then strftime('${format}', ${column}) end, ${ofText})`
}

/** A value of a group: its columns, and how they are shown. */
interface Measure {
  kind: SummaryFunction
  name: string
  columns: readonly string[]
  show: (...values: KeyValue[]) => unknown
}

function measureOf(list: ListDeclaration, kind: SummaryFunction, name: string, engine: Engine): Measure {
  const { column: bare, type } = fieldOf(list, name)
  const { select, show } = fieldTypes[type]
  const column = quote(bare)
  // SQLite stores texts in columns of numbers, too.
  const ofNumbers = `case when typeof(${column}) in ('integer', 'real') then ${column} end`
  const number =
    engine === 'sqlite' && (numbers.includes(type) || type === 'milliseconds') ? ofNumbers : column
  const measure = (columns: string[], show: Measure['show']): Measure => ({ kind, name, columns, show })
  if (kind === 'min' || kind === 'max') {
    const value = `${kind}(${number})`
    return measure([select?.[engine]?.(value) ?? value], (found) => showValue(found, show))
  }
  const isDouble = type === 'number' || type === 'real'
  const shown = (found: KeyValue): unknown => showNumber(found, type)
  if (engine === 'postgres') return measure([`${kind}(${column}${isDouble ? '::float8' : ''})`], shown)
  if (isDouble || kind === 'avg') return measure([`${kind}(${number} + 0.0)`], shown)
  // The halves of integers have sums that do not overflow.
  const ofIntegers = (part: string): string =>
    `cast(sum(case typeof(${column}) when 'integer' then ${column} ${part} end) as text)`
  const ofFractions = `sum(case typeof(${column}) when 'real' then ${column} end)`
  return measure([ofIntegers('>> 32'), ofIntegers('& 4294967295'), ofFractions], (high, low, fractions) => {
    if (high === null && fractions === null) return null
    const whole = (BigInt(String(high ?? 0)) << 32n) + BigInt(String(low ?? 0))
    return shown(fractions === null ? String(whole) : Number(whole) + Number(fractions))
  })
}

/** Texts of types whose items show texts; and of a sum of integers beyond 2^53. */
function showNumber(found: KeyValue, type: FieldType): unknown {
  if (found === null) return null
  const number = Number(found)
  if (
    type === 'bigint' ||
    type === 'numeric' ||
    (type === 'integer' && Math.abs(number) > Number.MAX_SAFE_INTEGER)
  )
    return String(found)
  return Number.isFinite(number) ? number : null
}

export function validateSummaries({ summaries, fields, filters = {} }: List): string[] {
  if (summaries === undefined) return []
  const faults = Object.entries(summaries as Record<string, unknown>).flatMap(([part, names]) => {
    if (!Object.hasOwn(summarizedTypes, part)) return [`\`summaries\` has no \`${part}\``]
    if (!Array.isArray(names)) return [`\`summaries.${part}\` must be an array of field names`]
    return names.flatMap((name: unknown) => {
      const field = Object.hasOwn(fields, String(name)) ? fields[String(name)]! : undefined
      if (field && !field.hidden && summarizedTypes[part as SummaryFunction].includes(field.type)) return []
      const why = field ? (field.hidden ? 'is hidden' : `has the type ${field.type}`) : 'is not a field'
      return [`\`summaries.${part}\` names ${String(name)}, which ${why}`]
    })
  })
  const taken = ['by', ...functions].filter((name) => Object.hasOwn(filters, name))
  return [...faults, ...taken.map((name) => `the filter ${name} has the name of a parameter of summaries`)]
}
