import type { ReactNode } from 'react'
import { words } from '../language/words.ts'
import { classes } from './classes.ts'

export type Tone = 'ok' | 'warn' | 'danger' | 'info' | 'plain'

const tones: Record<Tone, string> = {
  ok: 'bg-ok-tint text-ok',
  warn: 'bg-warn-tint text-warn',
  danger: 'bg-danger-tint text-danger',
  info: 'bg-info-tint text-info',
  plain: 'bg-sunken text-soft',
}

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classes(
        'inline-flex shrink-0 items-center rounded-full px-2 py-px text-xs font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {children}
    </span>
  )
}

/** What each status means for the person: one place, so that a word has the same colour on every page. */
const toneOf: Record<string, Tone> = {
  active: 'ok',
  ok: 'ok',
  processed: 'ok',
  delivered: 'ok',
  succeeded: 'ok',
  accepted: 'ok',
  done: 'ok',
  healthy: 'ok',
  completed: 'ok',
  sent: 'ok',
  pending: 'info',
  scheduled: 'info',
  running: 'info',
  queued: 'info',
  waiting: 'info',
  open: 'warn',
  retrying: 'warn',
  blocked: 'warn',
  paused: 'warn',
  warning: 'warn',
  expiring: 'warn',
  unhandled: 'plain',
  partial: 'warn',
  failed: 'danger',
  failing: 'danger',
  dead: 'danger',
  disabled: 'danger',
  refused: 'danger',
  error: 'danger',
  expired: 'danger',
  critical: 'danger',
  degraded: 'warn',
  idle: 'plain',
}

/** A status as pages write it. */
export const statusWord = (value: string): string => words.statuses[value] ?? value

/** A status as a word in its colour. */
export function Status({ value, children }: { value: string; children?: ReactNode }) {
  return <Badge tone={toneOf[value] ?? 'plain'}>{children ?? statusWord(value)}</Badge>
}
