import type { Figure, Outcome, Ratio } from '../measure/outcome.ts'

/** Numbers as people read them: 41 300, 2.13. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
}

type Row = [string, string, string, string]

function ratioRow({ name, median, min, max, bound, hope }: Ratio): Row {
  const aim = bound === undefined ? '' : `${verdict(median >= bound)}: at least ${Number(bound.toFixed(3))}`
  const further = hope === undefined ? '' : `, ${median >= hope ? 'and' : 'not'} the hoped ${hope}`
  return [name, median.toFixed(2), `${min.toFixed(2)} to ${max.toFixed(2)}`, aim + further]
}

function figureRow({ name, unit, median, min, max, atMost, atLeast }: Figure): Row {
  const aims = [
    ...(atMost === undefined ? [] : [`${verdict(median <= atMost)}: at most ${formatNumber(atMost)}`]),
    ...(atLeast === undefined ? [] : [`${verdict(median >= atLeast)}: at least ${formatNumber(atLeast)}`]),
  ]
  return [
    name,
    `${formatNumber(median)} ${unit}`,
    `${formatNumber(min)} to ${formatNumber(max)}`,
    aims.join(', '),
  ]
}

function verdict(kept: boolean): string {
  return kept ? 'kept' : 'MISSED'
}

/** Ratios first: they are what holds on other machines too. */
export function tableOf({ ratios, figures }: Outcome): { ratios: Row[]; figures: Row[] } {
  return { ratios: ratios.map(ratioRow), figures: figures.map(figureRow) }
}

const heads: Record<'ratios' | 'figures', Row> = {
  ratios: ['ratio', 'median', 'rounds', 'bound'],
  figures: ['figure', 'median', 'rounds', 'bound'],
}

export function asText(outcome: Outcome): string {
  const table = tableOf(outcome)
  const rows = [
    ...(table.ratios.length > 0 ? [heads.ratios, ...table.ratios] : []),
    heads.figures,
    ...table.figures,
  ]
  const widths = heads.ratios.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
  return [...lines, ...outcome.notes.map((note) => `* ${note}`)].join('\n')
}

export function asMarkdown(outcome: Outcome): string {
  const table = tableOf(outcome)
  const parts = (['ratios', 'figures'] as const)
    .filter((kind) => table[kind].length > 0)
    .map((kind) =>
      [heads[kind], ['---', '---:', '---:', '---'], ...table[kind]]
        .map((row) => `| ${row.join(' | ')} |`)
        .join('\n'),
    )
  return [...parts, outcome.notes.map((note) => `- ${note}`).join('\n')].join('\n\n')
}
