import { progressEvery, refreshEvery } from '../api/refresh.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { Status } from '../ui/badge.tsx'
import { bindFields } from '../ui/bind-fields.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Empty, ProblemNotice, Progress, ReadState } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { formatNumber } from '../ui/format.ts'
import { Time } from '../ui/time.tsx'
import { api } from './client.ts'

type Choice = { status: 'dead' | 'delivered' | 'pending'; since: string; until: string }

const bodyOf = ({ status, since, until }: Choice) => ({
  status,
  ...(since !== '' && { since: new Date(since).toISOString() }),
  ...(until !== '' && { until: new Date(until).toISOString() }),
})

/** Many deliveries are sent again: counted first, then with progress and a stop. */
export function Replays({ endpoint }: { endpoint: string }) {
  const queries = useQueryClient()
  const [choice, setChoice] = useState<Choice>({ status: 'dead', since: '', until: '' })
  const call = (dryRun: boolean) =>
    api.post('/portal/subscribers/{id}/replay', {
      params: { id: endpoint },
      body: { ...bodyOf(choice), ...(dryRun && { dryRun }) },
    })
  const count = useMutation({ mutationFn: () => call(true) })
  const start = useMutation({
    mutationFn: () => call(false),
    onSuccess: () => {
      count.reset()
      return queries.invalidateQueries({ queryKey: ['replays', endpoint] })
    },
  })
  const set = (change: Partial<Choice>): void => {
    count.reset()
    setChoice({ ...choice, ...change })
  }
  const { text } = bindFields(choice, set)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    count.mutate()
  }
  const problem = count.error ?? start.error
  return (
    <>
      <Section
        title="Send many again"
        description="Each keeps its event id, so that your server can tell duplicates."
      >
        <Form problem={problem} onSubmit={submit} className="flex flex-wrap items-end gap-3">
          <SelectField
            label="Status"
            options={[
              { value: 'dead', label: 'dead: given up' },
              { value: 'delivered', label: 'delivered' },
              { value: 'pending', label: 'pending: waiting' },
            ]}
            {...text('status')}
          />
          <TextField label="Created from (optional)" type="datetime-local" {...text('since')} />
          <TextField label="Created before (optional)" type="datetime-local" {...text('until')} />
          <Button type="submit" busy={count.isPending}>
            Count
          </Button>
        </Form>
        {count.data && (
          <p role="status" className="mt-3 flex flex-wrap items-center gap-3">
            {formatNumber(count.data.total)}{' '}
            {count.data.total === 1 ? 'delivery matches' : 'deliveries match'}.
            {count.data.total > 0 && (
              <Button kind="primary" busy={start.isPending} onClick={() => start.mutate()}>
                Send them again
              </Button>
            )}
          </p>
        )}
      </Section>
      <Jobs endpoint={endpoint} />
    </>
  )
}

function Jobs({ endpoint }: { endpoint: string }) {
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: ['replays', endpoint],
    queryFn: async ({ signal }) =>
      (await api.get('/portal/subscribers/{id}/jobs', { params: { id: endpoint }, signal })).data,
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => status === 'running') ? progressEvery : refreshEvery,
  })
  const stop = useMutation({
    mutationFn: (id: string) => api.delete('/portal/jobs/{id}', { params: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['replays', endpoint] }),
  })
  if (!query.data) return <ReadState {...query} />
  const { data } = query
  if (data.length === 0) return <Empty title="No replays yet" />
  return (
    <Section title="Replays">
      {stop.error && <ProblemNotice error={stop.error} />}
      <ul className="flex flex-col gap-3">
        {data.map(({ id, status, total, done, createdAt }) => (
          <li key={id}>
            {status === 'running' ? (
              <Progress label="Sent again" value={done} total={total} onStop={() => stop.mutate(id)} />
            ) : (
              <p className="flex flex-wrap items-center gap-3">
                <Status value={status} /> {formatNumber(done)} of {formatNumber(total)},{' '}
                <Time value={createdAt} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}
