/**
 * How many steps of a chart are shown. The last one has not ended and would look like a drop; it is shown while nothing happened before it.
 */
export function endedSteps(lines: readonly (readonly (number | null)[])[]): number {
  const all = lines[0]?.length ?? 0
  return lines.some((values) => values.slice(0, -1).some(Boolean)) ? all - 1 : all
}
