import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { Button, Menu, ProblemNotice, toast } from '../../ui/index.ts'
import type { Group } from './group-columns.tsx'

const hour = 3_600_000
const times = [
  ['1 hour', hour],
  ['8 hours', 8 * hour],
  ['1 day', 24 * hour],
  ['1 week', 7 * 24 * hour],
] as const

type Change = { to: 'acknowledge' | 'reopen' } | { to: 'snooze'; until: string }

/** Acknowledges, snoozes and reopens a group. */
export function StateButtons({ group: { id, state } }: { group: Pick<Group, 'id' | 'state'> }) {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: (wanted: Change) => {
      const params = { id }
      if (wanted.to === 'snooze')
        return api.post('/failures/{id}/snooze', { params, body: { until: wanted.until } })
      if (wanted.to === 'reopen') return api.post('/failures/{id}/reopen', { params })
      return api.post('/failures/{id}/acknowledge', { params })
    },
    onSuccess: ({ state: next }) => toast(`The failure is ${next}`),
    onSettled: () => client.invalidateQueries({ queryKey: ['failures'] }),
  })
  if (state === 'resolved') return null
  return (
    <>
      {change.error && <ProblemNotice error={change.error} />}
      {state === 'open' ? (
        <Button busy={change.isPending} onClick={() => change.mutate({ to: 'acknowledge' })}>
          Acknowledge
        </Button>
      ) : (
        <Button busy={change.isPending} onClick={() => change.mutate({ to: 'reopen' })}>
          Reopen
        </Button>
      )}
      {state !== 'snoozed' && (
        <Menu
          label="Snooze this failure"
          kind="default"
          trigger="Snooze"
          items={times.map(([label, length]) => ({
            label: `for ${label}`,
            run: () => change.mutate({ to: 'snooze', until: new Date(Date.now() + length).toISOString() }),
          }))}
        />
      )}
    </>
  )
}
