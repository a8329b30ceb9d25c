import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { classes, formatDuration, formatTime } from '../../ui/index.ts'
import type { EventDetail } from './use-event.ts'
import { lanesOf, scaleOf, type Lane, type Scale, type Step, type StepTone } from './way-steps.ts'

const tones: Record<StepTone, string> = {
  ok: 'bg-ok',
  danger: 'bg-danger',
  info: 'bg-info',
  plain: 'bg-strong',
}

/** The way of an event through the service on one time axis: a line for its sender, its handler, and each subscriber. */
export function Way({ event }: { event: EventDetail }) {
  const lanes = useMemo(() => lanesOf(event), [event])
  const scale = useMemo(() => scaleOf(lanes), [lanes])
  return (
    <div>
      <ul className="flex flex-col gap-1.5">
        {lanes.map((lane) => (
          <LaneRow key={lane.key} lane={lane} scale={scale} />
        ))}
      </ul>
      <div aria-hidden className="mt-1 sm:mr-58 sm:ml-44">
        <div className="relative mx-2 h-6 border-t border-line text-xs text-soft">
          {scale.ticks.map(({ at, after }) => (
            <span
              key={at}
              className={classes(
                'absolute top-1 whitespace-nowrap max-sm:not-first:not-last:hidden',
                at > 0.9 ? '-translate-x-full' : at > 0 && '-translate-x-1/2',
              )}
              style={{ left: `${at * 100}%` }}
            >
              {after === 0 ? formatTime(scale.start) : `+${formatDuration(after)}`}
            </span>
          ))}
        </div>
      </div>
      <p className="mt-1 text-xs text-soft">Not to scale.</p>
    </div>
  )
}

function LaneRow({ lane: { label, link, steps }, scale }: { lane: Lane; scale: Scale }) {
  const last = steps.at(-1)!
  return (
    <li className="flex flex-col gap-x-2 sm:flex-row sm:items-center">
      <span className="w-42 shrink-0 truncate text-sm" title={label}>
        {link ? (
          <Link to={link.to} params={{ id: link.id }} className="hover:underline">
            {label}
          </Link>
        ) : (
          label
        )}
      </span>
      <span className="relative mx-2 block h-6 min-w-0 rounded sm:flex-1 bg-sunken">
        {steps.map((step) => (
          <Mark key={`${step.from} ${step.text}`} step={step} scale={scale} />
        ))}
      </span>
      <span className="sr-only">{steps.map(({ text }) => text).join('; ')}</span>
      <span aria-hidden className="truncate text-xs text-soft sm:w-56 sm:shrink-0" title={last.text}>
        {last.text}
      </span>
    </li>
  )
}

function Mark({ step: { from, to, tone, text, planned }, scale }: { step: Step; scale: Scale }) {
  const left = scale.at(from) * 100
  const width = scale.at(to) * 100 - left
  return (
    <span
      aria-hidden
      title={`${formatTime(from)} · ${text}`}
      style={{ left: `calc(${left}% - 5px)`, width: `calc(${width}% + 10px)` }}
      className={classes(
        'absolute inset-y-1.5 rounded-full',
        planned ? 'border-2 border-dashed border-info' : tones[tone],
        planned || width > 0 ? '' : 'outline-2 outline-card',
      )}
    />
  )
}
