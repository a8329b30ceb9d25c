import type { RowOf } from '../../api/answers.ts'
import { formatPercent, Status } from '../../ui/index.ts'

export type Handler = RowOf<'GET /handlers'>

/** Shares of failed runs from which on a handler is failing, or only degraded. */
const failingFrom = 0.5

/** How a handler does, from its runs of the last hour and the events that it has left. */
export function healthOf({ paused, recent, failed, retrying }: Handler): string {
  if (paused) return 'paused'
  const { handled, errorRate } = recent
  if (errorRate !== null && errorRate >= failingFrom) return 'failing'
  if (errorRate || failed + retrying > 0) return 'degraded'
  return handled > 0 ? 'healthy' : 'idle'
}

export const HandlerStatus = ({ handler }: { handler: Handler }) => <Status value={healthOf(handler)} />

/** The share of failed runs, in the color that the status has. */
export function ErrorRate({ rate }: { rate: number | null }) {
  if (rate === null) return '–'
  const color = rate >= failingFrom ? 'text-danger' : rate > 0 ? 'text-warn' : ''
  return <span className={color}>{formatPercent(rate)}</span>
}

/** The name of a handler on pages. */
export const handlerName = ({ pattern, source }: Handler): string =>
  source === null ? pattern : `Forwarding from ${source}`
