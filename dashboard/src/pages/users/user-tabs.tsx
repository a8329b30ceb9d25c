import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { UserDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { ProblemNotice, ReadState, Section, toast, useConfirm } from '../../ui/index.ts'
import { ActivityTable } from '../account/activity-table.tsx'
import { AppsTable } from '../account/apps-table.tsx'
import { DevicesTable, nameOfDevice, type Device } from '../account/devices-table.tsx'
import { IdentitiesTable } from '../account/identities-table.tsx'

/** Browsers and apps in which the user is signed in. Each can be ended. */
export function UserDevices({ user: { id } }: { user: UserDetail }) {
  const ask = useConfirm()
  const client = useQueryClient()
  const devices = useQuery({
    queryKey: ['users', 'devices', id],
    queryFn: ({ signal }) => api.get('/users/{id}/sessions', { params: { id }, signal }),
  })
  const end = useMutation({
    mutationFn: (device: Device) =>
      api.delete('/users/{id}/sessions/{sessionId}', { params: { id, sessionId: device.id } }),
    onSuccess: async (_answer, device) => {
      toast(`${nameOfDevice(device)} is signed out`)
      await client.invalidateQueries({ queryKey: ['users'] })
    },
  })
  const onEnd = async (device: Device): Promise<void> => {
    const yes = await ask({
      title: `Sign out ${nameOfDevice(device)}?`,
      consequence: 'The session ends at once. The user can sign in again.',
      action: 'Sign out',
    })
    if (yes) end.mutate(device)
  }
  return (
    <>
      {(devices.error ?? end.error) && <ProblemNotice error={devices.error ?? end.error} />}
      <Section flush>
        <DevicesTable
          devices={devices.data?.data ?? []}
          loading={devices.isPending}
          onEnd={(device) => void onEnd(device)}
        />
      </Section>
    </>
  )
}

export function UserIdentities({ id }: { id: string }) {
  const identities = useQuery({
    queryKey: ['users', 'identities', id],
    queryFn: ({ signal }) => api.get('/users/{id}/identities', { params: { id }, signal }),
  })
  if (!identities.data) return <ReadState {...identities} />
  return (
    <>
      <ReadState {...identities} />
      <Section flush>
        <IdentitiesTable identities={identities.data.data} loading={identities.isPending} />
      </Section>
    </>
  )
}

export function UserApps({ id }: { id: string }) {
  const apps = useQuery({
    queryKey: ['users', 'apps', id],
    queryFn: ({ signal }) => api.get('/users/{id}/apps', { params: { id }, signal }),
  })
  if (!apps.data) return <ReadState {...apps} />
  return (
    <>
      <ReadState {...apps} />
      <Section flush>
        <AppsTable apps={apps.data.data} loading={apps.isPending} linked />
      </Section>
    </>
  )
}

export function UserActivity({ id }: { id: string }) {
  const entries = usePages({
    key: ['users', 'audit', id],
    read: (cursor, signal) =>
      api.get('/users/{id}/audit', { params: { id }, query: { limit: 50, cursor }, signal }),
    idOf: (entry) => entry.id,
  })
  return <ActivityTable entries={entries} />
}
