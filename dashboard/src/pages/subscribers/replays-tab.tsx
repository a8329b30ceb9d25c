import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { BodyOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Button,
  Form,
  Notice,
  Section,
  SelectField,
  TextField,
  bindFields,
  formatNumber,
} from '../../ui/index.ts'
import { ReplayJobs } from './replay-jobs.tsx'

type Filter = NonNullable<BodyOf<'POST /subscribers/{id}/replay'>>

const which = [
  { value: 'dead', label: 'Dead: given up' },
  { value: 'pending', label: 'Pending: waiting for a retry, send now' },
  { value: 'delivered', label: 'Delivered, once more' },
]

/** Sending many deliveries again: which, how many, how fast; and what became of it. */
export function ReplaysTab({ id }: { id: string }) {
  const client = useQueryClient()
  const [fields, setFields] = useState({ status: 'dead', eventType: '', since: '', until: '', rate: '' })
  const filter = filterOf(fields)
  const count = useMutation({
    mutationFn: () =>
      api.post('/subscribers/{id}/replay', { params: { id }, body: { ...filter, dryRun: true } }),
  })
  const start = useMutation({
    mutationFn: () => api.post('/subscribers/{id}/replay', { params: { id }, body: filter }),
    onSuccess: async () => {
      count.reset()
      await client.invalidateQueries({ queryKey: ['jobs'] })
    },
  })
  const set = (change: Partial<typeof fields>): void => {
    setFields({ ...fields, ...change })
    count.reset()
  }
  const { text } = bindFields(fields, set)
  const total = count.data?.total
  const error = count.error ?? start.error
  return (
    <>
      <Section
        title="Send many again"
        description="With the same event ids, so a receiver that remembers them handles none twice."
      >
        <Form
          problem={error}
          className="grid max-w-3xl gap-4 sm:grid-cols-2"
          onSubmit={(event) => {
            event.preventDefault()
            count.mutate()
          }}
        >
          <SelectField label="Which" options={which} {...text('status')} />
          <TextField label="Event type (optional)" {...text('eventType')} />
          <TextField label="Created since (optional)" type="datetime-local" {...text('since')} />
          <TextField label="Created before (optional)" type="datetime-local" {...text('until')} />
          <TextField
            label="Per second, at most (optional)"
            type="number"
            min="0.01"
            max="10000"
            step="any"
            hint="Default: as fast as the receiver accepts them."
            {...text('rate')}
          />
          <div className="flex flex-wrap items-center gap-3 sm:col-span-2">
            <Button type="submit" busy={count.isPending}>
              Count them
            </Button>
            {total !== undefined && total > 0 && (
              <Button kind="primary" busy={start.isPending} onClick={() => start.mutate()}>
                Send {formatNumber(total)} again
              </Button>
            )}
            {total === 0 && <span role="status">No delivery matches.</span>}
          </div>
        </Form>
      </Section>
      <Notice>A replay queues deliveries. Whether they arrived, each delivery shows itself.</Notice>
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
