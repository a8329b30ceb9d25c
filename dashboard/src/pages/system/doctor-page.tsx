import { commandLine } from '../../api/boot.ts'
import { useQueryClient } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { asLabel } from '../../ui/format.ts'
import {
  Button,
  Empty,
  Notice,
  Page,
  ProblemNotice,
  Progress,
  Section,
  Time,
  WithCode,
} from '../../ui/index.ts'
import { SystemLinks } from './system-links.tsx'

type Finding = AnswerOf<'GET /diagnostics'>['findings'][number]

interface Run {
  state: 'running' | 'done' | 'stopped'
  startedAt: number
  findings: readonly Finding[]
  done: number
  total: number | undefined
}

const resultKey = ['diagnostics', 'result']
/** The first check, which also names the others. */
const first = 'settings'

/** Shown before the checks run: they call other machines, so they do not run by themselves. */
const checked: readonly [what: string, how: string][] = [
  ['Settings', 'missing, wrong or unsafe settings; weak secrets'],
  ['Database', 'availability, migrations, connections, free disk space, clock, API keys, standby'],
  ['Spool', 'availability, and the number of waiting webhooks'],
  ['Contents', 'encrypted values, sizes, queues, failed work, retention, audit log export'],
  ['Lists', 'an index for each sort and filter'],
  ['Identity providers', 'availability and required settings'],
]

/** Runs the checks of `postern doctor` one by one. The last result stays while the dashboard is open. */
export function DoctorPage() {
  const queryClient = useQueryClient()
  const [run, setRun] = useState<Run | undefined>(() => queryClient.getQueryData<Run>(resultKey))
  const [error, setError] = useState<unknown>()
  const stopping = useRef<AbortController>(undefined)
  useEffect(() => () => stopping.current?.abort(), [])
  const show = (next: Run): void => {
    setRun(next)
    if (next.state !== 'running') queryClient.setQueryData(resultKey, next)
  }
  const start = async (): Promise<void> => {
    const stop = (stopping.current = new AbortController())
    setError(undefined)
    const startedAt = Date.now()
    const found: Finding[] = []
    let now: Run = { state: 'running', startedAt, findings: [], done: 0, total: undefined }
    show(now)
    try {
      for (let names = [first]; now.done < names.length;) {
        const query = { check: names[now.done]! }
        const { checks, findings } = await api.get('/diagnostics', { query, signal: stop.signal })
        names = checks
        found.push(...findings)
        now = { state: 'running', startedAt, findings: [...found], done: now.done + 1, total: names.length }
        show(now)
      }
      show({ ...now, state: 'done' })
    } catch (problem) {
      show({ ...now, state: 'stopped' })
      if (!stop.signal.aborted) setError(problem)
    }
  }
  const isRunning = run?.state === 'running'
  return (
    <Page
      title="Doctor"
      description="Checks settings, database, queues, lists and identity providers. Changes nothing."
      primary={
        <Button kind="primary" busy={isRunning} onClick={() => void start()}>
          {run ? 'Run again' : 'Run checks'}
        </Button>
      }
    >
      <SystemLinks />
      {error !== undefined && <ProblemNotice error={error} retry={() => void start()} />}
      {isRunning && (
        <div className="mb-4">
          <Progress
            label="Checks"
            value={run.done}
            {...(run.total !== undefined && { total: run.total })}
            onStop={() => stopping.current?.abort()}
          />
        </div>
      )}
      {run ? (
        <Result run={run} />
      ) : (
        <Section title="Checks" flush>
          <dl className="divide-y divide-line">
            {checked.map(([what, how]) => (
              <div key={what} className="gap-3 px-4 py-2.5 sm:flex">
                <dt className="w-40 shrink-0 font-medium">{what}</dt>
                <dd className="min-w-0 text-soft">{how}</dd>
              </div>
            ))}
          </dl>
          <Empty title="Not run yet" command={commandLine('doctor')}>
            The checks take a few seconds. They also run on the command line, even while the service is
            stopped.
          </Empty>
        </Section>
      )}
    </Page>
  )
}

const order = ['fault', 'warning', 'ok'] as const
const looks = {
  fault: ['Errors', CircleAlert, 'text-danger'],
  warning: ['Warnings', TriangleAlert, 'text-warn'],
  ok: ['Passed', CircleCheck, 'text-ok'],
} as const

function Result({ run: { state, startedAt, findings } }: { run: Run }) {
  const count = (wanted: Finding['state']): number => findings.filter((one) => one.state === wanted).length
  const [faults, warnings] = [count('fault'), count('warning')]
  const words = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`
  return (
    <>
      {state === 'stopped' && (
        <Notice tone="warn">The checks were stopped. These are the results so far.</Notice>
      )}
      {state === 'done' && (
        <Notice tone={faults > 0 ? 'danger' : warnings > 0 ? 'warn' : 'info'}>
          {words(faults, 'error')}, {words(warnings, 'warning')}. Run at <Time value={startedAt} />.
        </Notice>
      )}
      {order.map((wanted) => {
        const [title, Icon, colour] = looks[wanted]
        const some = findings.filter((one) => one.state === wanted)
        return (
          some.length > 0 && (
            <Section key={wanted} title={title} flush>
              <ul className="divide-y divide-line">
                {some.map(({ about, text, advice }) => (
                  <li key={`${about} ${text}`} className="flex gap-3 px-4 py-2.5">
                    <Icon size={18} aria-hidden className={`mt-0.5 shrink-0 ${colour}`} />
                    <div className="min-w-0 break-words">
                      <p>
                        <span className="font-medium">{asLabel(about)}</span>: <WithCode text={text} />
                      </p>
                      {advice !== null && (
                        <p className="text-soft">
                          <WithCode text={asLabel(advice)} />
                        </p>
                      )}
                    </div>
                  </li>
                ))}
              </ul>
            </Section>
          )
        )
      })}
    </>
  )
}
