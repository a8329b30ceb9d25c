import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { Button, ProblemNotice, Section, toast, useConfirm } from '../../ui/index.ts'
import { DevicesTable, nameOfDevice, signedInText, type Device } from './devices-table.tsx'

/** Where the person is signed in: end one session, or all others. */
export function OwnDevices() {
  const ask = useConfirm()
  const client = useQueryClient()
  const devices = useQuery({
    queryKey: ['account', 'devices'],
    queryFn: ({ signal }) => api.get('/auth/sessions', { signal }),
  })
  const after = (said: string) => async (): Promise<void> => {
    toast(said)
    await client.invalidateQueries({ queryKey: ['account'] })
  }
  const end = useMutation({
    mutationFn: ({ id }: Device) => api.delete('/auth/sessions/{id}', { params: { id } }),
    onSuccess: (_answer, device) => after(`Signed out ${nameOfDevice(device)}`)(),
  })
  const endOthers = useMutation({
    mutationFn: () => api.delete('/auth/sessions'),
    onSuccess: after('Signed out everywhere else'),
  })
  const onEnd = async (device: Device): Promise<void> => {
    const yes = await ask({
      title: `Sign out ${nameOfDevice(device)}?`,
      consequence: `The session from ${device.address ?? 'an unknown address'}, ${signedInText(device)}, ends immediately. To continue there, sign in again.`,
      action: 'Sign out',
    })
    if (yes) end.mutate(device)
  }
  const rows = devices.data?.data ?? []
  const others = rows.length - 1
  const onEndOthers = async (): Promise<void> => {
    const yes = await ask({
      title: `Sign out ${others === 1 ? 'your other session' : `your ${others} other sessions`}?`,
      consequence: 'They end immediately, on all devices and in all apps. You stay signed in here.',
      action: 'Sign out everywhere else',
    })
    if (yes) endOthers.mutate()
  }
  const error = devices.error ?? end.error ?? endOthers.error
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Section
        flush
        title="Where you are signed in"
        actions={
          others > 0 && (
            <Button kind="danger" small busy={endOthers.isPending} onClick={() => void onEndOthers()}>
              Sign out everywhere else
            </Button>
          )
        }
      >
        <DevicesTable devices={rows} loading={devices.isPending} onEnd={(device) => void onEnd(device)} />
      </Section>
    </>
  )
}
