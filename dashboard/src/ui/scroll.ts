/** Scrolls a row of tabs so that one of them is in its middle: on a telephone it may be beyond the edge. */
export function centreWithin(row: HTMLElement | null, selector: string): void {
  const child = row?.querySelector<HTMLElement>(selector)
  if (row && child) row.scrollLeft = child.offsetLeft + child.offsetWidth / 2 - row.clientWidth / 2
}
