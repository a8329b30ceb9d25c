import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { ProblemNotice, Section, toast, useConfirm } from '../../ui/index.ts'
import { AppsTable, type AllowedApp } from './apps-table.tsx'

/** The apps that the person allowed or is signed in to. */
export function OwnApps() {
  const ask = useConfirm()
  const client = useQueryClient()
  const apps = useQuery({
    queryKey: ['account', 'apps'],
    queryFn: ({ signal }) => api.get('/auth/apps', { signal }),
  })
  const remove = useMutation({
    mutationFn: ({ id }: AllowedApp) => api.delete('/auth/apps/{clientId}', { params: { clientId: id } }),
    onSuccess: async (_answer, { name }) => {
      toast(`Removed ${name}`)
      await client.invalidateQueries({ queryKey: ['account'] })
    },
  })
  const onRemove = async (app: AllowedApp): Promise<void> => {
    const yes = await ask({
      title: `Remove ${app.name}?`,
      consequence: `You are signed out of it immediately, on all devices.${app.firstParty ? '' : ' It has to ask for your consent again.'}`,
      action: 'Remove',
    })
    if (yes) remove.mutate(app)
  }
  const error = apps.error ?? remove.error
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Section flush title="Apps that use this account">
        <AppsTable
          apps={apps.data?.data ?? []}
          loading={apps.isPending}
          onRemove={(app) => void onRemove(app)}
        />
      </Section>
    </>
  )
}
