import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, PosternError } from '../../api/client.ts'
import type { EventRow } from '../../api/answers.ts'
import { Button, formatNumber, Notice, Progress, toast, useConfirm } from '../../ui/index.ts'

/** Calls at once. */
const atOnce = 4

interface Run {
  /** Stops it. */
  abort: AbortController
  running: boolean
  done: number
  total: number
  refused: string[]
}

/** Runs the handlers of the selected events now, with progress and a stop. */
export function RunSelected({
  rows,
  total,
  onDone,
}: {
  rows: readonly EventRow[]
  total: number
  onDone: () => void
}) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const [run, setRun] = useState<Run>()
  const start = async (): Promise<void> => {
    const yes =
      rows.length === 1 ||
      (await confirm({
        title: `Run ${formatNumber(rows.length)} events now?`,
        consequence: 'Their handlers run again. Failed events get all attempts of the retry schedule again.',
        action: 'Run now',
        kind: 'primary',
      }))
    if (!yes) return
    const abort = new AbortController()
    const waiting = [...rows]
    const state: Run = { abort, running: true, done: 0, total: rows.length, refused: [] }
    const work = async (): Promise<void> => {
      for (let row = waiting.pop(); row && !abort.signal.aborted; row = waiting.pop()) {
        try {
          await api.post('/events/{id}/reprocess', { params: { id: String(row.id) }, body: {} })
        } catch (error) {
          state.refused.push(
            `${row.eventId}: ${error instanceof PosternError ? error.message : 'no response'}`,
          )
        }
        state.done += 1
        setRun({ ...state })
      }
    }
    setRun({ ...state })
    await Promise.all(Array.from({ length: atOnce }, work))
    setRun(state.refused.length > 0 ? { ...state, running: false } : undefined)
    const ran = state.done - state.refused.length
    toast(
      `${formatNumber(ran)} event${ran === 1 ? '' : 's'} queued to run${abort.signal.aborted ? '; stopped' : ''}`,
    )
    void client.invalidateQueries({ queryKey: ['failures'] })
    onDone()
  }
  const running = run?.running === true
  if (!running && total === 0 && !run) return null
  return (
    <div className="mb-3">
      {running ? (
        <Progress label="Running" value={run.done} total={run.total} onStop={() => run.abort.abort()} />
      ) : (
        total > 0 && (
          <div className="flex flex-wrap items-center gap-3">
            <span>{formatNumber(total)} selected</span>
            <Button kind="primary" small disabled={rows.length === 0} onClick={() => void start()}>
              Run now
            </Button>
            {rows.length < total && (
              <span className="text-sm text-soft">
                {rows.length === 0
                  ? 'You can run only received events that failed or will be retried.'
                  : `${formatNumber(rows.length)} of them can be run: they failed or will be retried.`}
              </span>
            )}
          </div>
        )
      )}
      {run && !running && run.refused.length > 0 && (
        <Notice tone="warn">
          {run.refused.slice(0, 5).map((text) => (
            <p key={text}>{text}</p>
          ))}
          {run.refused.length > 5 && <p>and {run.refused.length - 5} more</p>}
        </Notice>
      )}
    </div>
  )
}
