import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { BodyOf } from '../api/answers.ts'
import { fill, words } from '../language/words.ts'
import { bindFields } from '../ui/bind-fields.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatNumber } from '../ui/format.ts'
import { Section } from '../ui/page.tsx'
import { useCalls, useRefresh } from './calls.ts'
import { ReplayJobs } from './replay-jobs.tsx'

type Filter = NonNullable<BodyOf<'POST /subscribers/{id}/replay'>>

const which = () => [
  { value: 'dead', label: words.replays.failed },
  { value: 'pending', label: words.replays.pending },
  { value: 'delivered', label: words.replays.delivered },
  { value: 'missing', label: words.replays.missing },
]

/** Sends many deliveries again: counted first, then with progress and a stop. Missing events cannot be counted. */
export function Replays({ id }: { id: string }) {
  const { replay } = useCalls()
  const refresh = useRefresh()
  const [fields, setFields] = useState({ status: 'dead', eventType: '', since: '', until: '', rate: '' })
  const filter = filterOf(fields)
  const count = useMutation({
    mutationFn: () => replay(id, { ...filter, dryRun: true }),
  })
  const start = useMutation({
    mutationFn: () => replay(id, filter),
    onSuccess: async () => {
      count.reset()
      await refresh()
    },
  })
  const set = (change: Partial<typeof fields>): void => {
    setFields({ ...fields, ...change })
    count.reset()
  }
  const { text } = bindFields(fields, set)
  const total = count.data?.total
  const error = count.error ?? start.error
  const isMissing = fields.status === 'missing'
  return (
    <>
      <Section title={words.replays.title} description={words.replays.description}>
        <Form
          problem={error}
          className="grid max-w-3xl gap-4 sm:grid-cols-2"
          onSubmit={(event) => {
            event.preventDefault()
            if (isMissing) start.mutate()
            else count.mutate()
          }}
        >
          <SelectField label={words.replays.deliveries} options={which()} {...text('status')} />
          <TextField label={words.replays.eventType} {...text('eventType')} />
          <TextField
            label={isMissing ? words.replays.sinceRequired : words.replays.since}
            type="datetime-local"
            required={isMissing}
            {...text('since')}
          />
          <TextField label={words.replays.until} type="datetime-local" {...text('until')} />
          <TextField
            label={words.replays.rate}
            type="number"
            min="0.01"
            max="10000"
            step="any"
            hint={words.replays.rateHint}
            {...text('rate')}
          />
          <div className="flex flex-wrap items-center gap-3 sm:col-span-2">
            <Button type="submit" busy={count.isPending || (isMissing && start.isPending)}>
              {isMissing ? words.replays.title : words.replays.count}
            </Button>
            {total !== undefined && total > 0 && (
              <Button kind="primary" busy={start.isPending} onClick={() => start.mutate()}>
                {fill(words.replays.replay, { count: formatNumber(total) })}
              </Button>
            )}
            {total === 0 && <span role="status">{words.replays.noMatch}</span>}
          </div>
        </Form>
      </Section>
      <ReplayJobs id={id} />
    </>
  )
}

function filterOf({
  status,
  eventType,
  since,
  until,
  rate,
}: Record<'status' | 'eventType' | 'since' | 'until' | 'rate', string>): Filter {
  return {
    status: status as NonNullable<Filter['status']>,
    ...(eventType.trim() !== '' && { eventType: eventType.trim() }),
    ...(since !== '' && { since: new Date(since).toISOString() }),
    ...(until !== '' && { until: new Date(until).toISOString() }),
    ...(rate !== '' && { rate: Number(rate) }),
  }
}
