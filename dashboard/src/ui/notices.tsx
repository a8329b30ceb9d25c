import { CircleAlert, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { PosternError } from '../api/client.ts'
import { fill, problemText, words } from '../language/words.ts'
import { Button, Spinner } from './button.tsx'
import { classes } from './classes.ts'
import { CodeBlock } from './code.tsx'
import { formatNumber } from './format.ts'

const looks = {
  info: ['border-info bg-info-tint', Info],
  warn: ['border-warn bg-warn-tint', TriangleAlert],
  danger: ['border-danger bg-danger-tint', CircleAlert],
} as const

/** A message in the page. `danger` is announced at once. */
export function Notice({ tone = 'info', children }: { tone?: keyof typeof looks; children: ReactNode }) {
  const [look, Icon] = looks[tone]
  return (
    <div
      role={tone === 'danger' ? 'alert' : 'status'}
      className={classes('mb-4 flex gap-2.5 rounded-md border-l-4 px-3 py-2', look)}
    >
      <Icon size={18} aria-hidden className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 break-words">{children}</div>
    </div>
  )
}

/** What went wrong with a call, with the id that finds it in the service's log. */
export function ProblemNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof PosternError ? error : undefined
  return (
    <Notice tone="danger">
      <p>{problem ? problemText(problem) : words.ui.pageFailed}</p>
      {problem && (
        <p className="text-sm text-soft">
          {problem.code}
          {problem.requestId !== undefined && ` · ${fill(words.ui.request, { id: problem.requestId })}`}
        </p>
      )}
      {retry && (
        <Button small className="mt-2" onClick={retry}>
          {words.ui.tryAgain}
        </Button>
      )}
    </Notice>
  )
}

/** What a page shows where there is nothing yet: what would be here, and how to get it. */
export function Empty({
  title,
  children,
  command,
  action,
}: {
  title: string
  children?: ReactNode
  command?: string
  action?: ReactNode
}) {
  return (
    <div className="mx-auto max-w-2xl px-4 py-10 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="mt-1 text-soft">{children}</div>}
      {command !== undefined && (
        <div className="mt-4 text-left">
          <CodeBlock code={command} label="Command" />
        </div>
      )}
      {action && <div className="mt-4 flex justify-center gap-2">{action}</div>}
    </div>
  )
}

/** Shown while a page or a part of it is read. */
export function Loading({ label = words.ui.loading }: { label?: string }) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 py-10 text-soft">
      <Spinner /> {label}…
    </div>
  )
}

/**
 * What a page or a part of it says about a read: that it goes on or that it failed. Nothing when it succeeded. It stands above the
 * content, never in the place of what was read before: one failed read in the background must not take a form or a secret away.
 */
export function ReadState({ data, error, refetch }: Read) {
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />
  return data === undefined ? <Loading /> : null
}

interface Read {
  data: unknown
  error: unknown
  refetch: () => Promise<unknown>
}

/** The progress of a long action, with a button to stop it. Without `total` only the count is known. */
export function Progress({
  label,
  value,
  total,
  onStop,
}: {
  label: string
  value: number
  total?: number
  onStop?: () => void
}) {
  return (
    <div className="flex flex-wrap items-center gap-3" role="group" aria-label={label}>
      <progress
        aria-label={label}
        className="h-2 min-w-32 flex-1"
        {...(total === undefined ? {} : { value, max: Math.max(total, 1) })}
      />
      <span role="status" className="text-sm text-soft tabular-nums">
        {total === undefined
          ? `${label}: ${formatNumber(value)}`
          : fill(words.ui.progress, { label, count: formatNumber(value), total: formatNumber(total) })}
      </span>
      {onStop && (
        <Button small onClick={onStop}>
          {words.ui.stop}
        </Button>
      )}
    </div>
  )
}
