import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { api, isProblem } from '../../api/client.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import {
  Button,
  Notice,
  Page,
  ProblemNotice,
  ReadState,
  Status,
  Tabs,
  Time,
  useConfirm,
} from '../../ui/index.ts'
import { linkLook } from '../deliveries/delivery-table.tsx'
import { VerificationCode } from '../../webhooks/verification-code.tsx'
import { DangerTab } from './danger-tab.tsx'
import { DeliveriesTab } from './deliveries-tab.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { Replays } from '../../webhooks/replays.tsx'
import { Secrets } from '../../webhooks/secrets.tsx'
import { SettingsTab } from './settings-tab.tsx'
import type { Subscriber } from '../../webhooks/types.ts'

const route = getRouteApi('/subscribers/$id')

/** One subscriber: how it does, what it got, and all that can be set. */
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
      <Page title="Subscriber">
        <ReadState {...query} />
      </Page>
    )
  return (
    <Page
      title={subscriber.url}
      beside={<Status value={subscriber.state} />}
      description={subscriber.description ?? undefined}
      range={tab === 'overview'}
      actions={<Actions subscriber={subscriber} />}
    >
      <ReadState {...query} />
      <Warning subscriber={subscriber} />
      <Tabs
        label="Subscriber"
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
  if (state === 'disabled') return <Notice tone="danger">Disabled, nothing is sent: {disabledReason}</Notice>
  if (state === 'paused')
    return <Notice tone="warn">Paused: its events wait, and are sent when you resume it.</Notice>
  if (status !== 'active' || failingSince === null) return null
  return (
    <Notice tone="warn">
      Deliveries fail since <Time value={failingSince} />.{' '}
      {disablesAt !== null && (
        <>
          If none succeeds, a failure from <Time value={disablesAt} /> on disables it.
        </>
      )}
    </Notice>
  )
}

function Actions({ subscriber: { id, url, status } }: { subscriber: Subscriber }) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const refresh = () => client.invalidateQueries({ queryKey: ['subscribers'] })
  const test = useMutation({
    mutationFn: () => api.post('/subscribers/{id}/test', { params: { id } }),
    onSuccess: refresh,
  })
  const become = useMutation({
    mutationFn: (next: 'active' | 'paused') =>
      api.patch('/subscribers/{id}', { params: { id }, body: { status: next } }),
    onSuccess: refresh,
  })
  const pause = async (): Promise<void> => {
    const question = {
      title: `Pause ${url}?`,
      consequence: 'Nothing is sent to it until you resume it. Its events wait and are sent then.',
      action: 'Pause',
      kind: 'primary',
    } as const
    if (await confirm(question)) become.mutate('paused')
  }
  const error = test.error ?? become.error
  return (
    <>
      {status === 'active' ? (
        <Button busy={become.isPending} onClick={() => void pause()}>
          Pause
        </Button>
      ) : (
        <Button kind="primary" busy={become.isPending} onClick={() => become.mutate('active')}>
          Resume
        </Button>
      )}
      <Button busy={test.isPending} disabled={status === 'disabled'} onClick={() => test.mutate()}>
        Send a test event
      </Button>
      {test.data && (
        <Link to="/deliveries/$id" params={{ id: String(test.data.deliveryId) }} className={linkLook}>
          See the test delivery
        </Link>
      )}
      {error && <ProblemNotice error={error} />}
    </>
  )
}
