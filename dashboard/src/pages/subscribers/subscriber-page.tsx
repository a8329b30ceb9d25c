import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import { Button, Notice, Page, ProblemNotice, ReadState, Status, Tabs, Time, toast } from '../../ui/index.ts'
import { VerificationCode } from '../../webhooks/verification-code.tsx'
import { DangerTab } from './danger-tab.tsx'
import { DeliveriesTab } from './deliveries-tab.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { Replays } from '../../webhooks/replays.tsx'
import { Secrets } from '../../webhooks/secrets.tsx'
import { words } from '../../language/words.ts'
import { Transformation } from '../../webhooks/transformation.tsx'
import { SettingsTab } from './settings-tab.tsx'
import type { Subscriber } from '../../webhooks/types.ts'

const route = getRouteApi('/subscribers/$id')
const up = <Link to="/subscribers">Endpoints</Link>

/** One endpoint: its health, deliveries and settings. */
export function SubscriberPage() {
  const { id } = route.useParams()
  const { tab = 'overview' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({
    queryKey: ['subscribers', 'one', id],
    queryFn: ({ signal }) => api.get('/subscribers/{id}', { params: { id }, signal }),
  })
  const subscriber = query.data
  if (isProblem(query.error, 404)) return <NotFoundPage />
  if (!subscriber)
    return (
      <Page title="Endpoint" up={up}>
        <ReadState {...query} />
      </Page>
    )
  return (
    <Page
      title={subscriber.url}
      up={up}
      beside={<Status value={subscriber.state} />}
      description={subscriber.description ?? undefined}
      range={tab === 'overview'}
      actions={<Actions subscriber={subscriber} />}
      primary={<SendTest subscriber={subscriber} />}
    >
      <ReadState {...query} />
      <Warning subscriber={subscriber} />
      <Tabs
        label="Endpoint"
        value={tab}
        onChange={(next) =>
          void navigate({
            search: ({ range }) => ({ ...(range && { range }), ...(next !== 'overview' && { tab: next }) }),
          })
        }
        tabs={[
          { value: 'overview', label: 'Overview', content: <OverviewTab subscriber={subscriber} /> },
          { value: 'deliveries', label: 'Deliveries', content: <DeliveriesTab id={id} /> },
          { value: 'settings', label: 'Settings', content: <SettingsTab key={id} subscriber={subscriber} /> },
          {
            value: 'transformation',
            label: words.transformation.title,
            content: <Transformation key={id} subscriber={subscriber} />,
          },
          { value: 'secrets', label: 'Secrets', content: <Secrets subscriber={subscriber} /> },
          { value: 'replays', label: 'Replays', content: <Replays id={id} /> },
          {
            value: 'code',
            label: 'Verification code',
            content: <VerificationCode subscriber={subscriber} />,
          },
          { value: 'danger', label: 'Disable or delete', content: <DangerTab subscriber={subscriber} /> },
        ]}
      />
    </Page>
  )
}

function Warning({ subscriber }: { subscriber: Subscriber }) {
  const { state, status, disabledReason, failingSince, disablesAt } = subscriber
  if (state === 'disabled') return <Notice tone="danger">Disabled. Nothing is sent: {disabledReason}</Notice>
  if (state === 'paused')
    return <Notice tone="warn">Paused. Its events wait and are sent when you resume it.</Notice>
  if (status !== 'active' || failingSince === null) return null
  return (
    <Notice tone="warn">
      Failing since <Time value={failingSince} />.{' '}
      {disablesAt !== null && (
        <>
          Will be disabled on <Time value={disablesAt} /> unless a delivery succeeds.
        </>
      )}
    </Notice>
  )
}

function Actions({ subscriber: { id, status } }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const refresh = () => client.invalidateQueries({ queryKey: ['subscribers'] })
  const become = useMutation({
    mutationFn: (next: 'active' | 'paused') =>
      api.patch('/subscribers/{id}', { params: { id }, body: { status: next } }),
    onSuccess: (_answer, next) => {
      if (next === 'paused')
        toast('Endpoint paused', {
          action: { label: 'Resume', onClick: () => become.mutate('active') },
        })
      return refresh()
    },
  })
  return (
    <>
      {status === 'active' ? (
        <Button busy={become.isPending} onClick={() => become.mutate('paused')}>
          Pause
        </Button>
      ) : (
        <Button busy={become.isPending} onClick={() => become.mutate('active')}>
          Resume
        </Button>
      )}
      {become.error && <ProblemNotice error={become.error} />}
    </>
  )
}

function SendTest({ subscriber: { id, status } }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const navigate = route.useNavigate()
  const test = useMutation({
    mutationFn: () => api.post('/subscribers/{id}/test', { params: { id } }),
    onSuccess: async ({ deliveryId }) => {
      await client.invalidateQueries({ queryKey: ['subscribers'] })
      await navigate({ to: '/deliveries/$id', params: { id: String(deliveryId) } })
    },
  })
  return (
    <>
      <Button
        kind="primary"
        busy={test.isPending}
        disabled={status === 'disabled'}
        onClick={() => test.mutate()}
      >
        Send test event
      </Button>
      {test.error && <ProblemNotice error={test.error} />}
    </>
  )
}
