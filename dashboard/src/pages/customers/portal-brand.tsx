import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { Button, Form, Loading, ProblemNotice, Section, TextField, toast } from '../../ui/index.ts'
import { LogoField } from './logo-field.tsx'

type Brand = AnswerOf<'GET /owners/{owner}/brand'>

/** Name, color and logo of one customer's portal, in place of those of the installation. */
export function PortalBrand({ owner }: { owner: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['owner-brand', owner],
    queryFn: ({ signal }) => api.get('/owners/{owner}/brand', { params: { owner }, signal }),
  })
  return (
    <Section title="Portal branding" description="Leave a field empty to use the default branding.">
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && <BrandForm key={JSON.stringify(data)} owner={owner} stored={data} />}
    </Section>
  )
}

function BrandForm({ owner, stored }: { owner: string; stored: Brand }) {
  const queries = useQueryClient()
  const [brand, setBrand] = useState(stored)
  const save = useMutation({
    mutationFn: (body: Brand) => api.patch('/owners/{owner}/brand', { params: { owner }, body }),
    onSuccess: (saved) => {
      toast('Branding saved')
      queries.setQueryData(['owner-brand', owner], saved)
    },
  })
  const hasOwn = Object.values(stored).some((value) => value !== null)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate(brand)
  }
  return (
    <Form problem={save.error} onSubmit={submit} className="flex max-w-xl flex-col gap-4">
      <TextField
        label="Name"
        name="name"
        hint="Shown in the portal's header and window title."
        maxLength={60}
        value={brand.name ?? ''}
        onChange={({ target }) =>
          setBrand({ ...brand, name: target.value.trim() === '' ? null : target.value })
        }
      />
      <ColorField value={brand.color} onChange={(color) => setBrand({ ...brand, color })} />
      <LogoField value={brand.logo} onChange={(logo) => setBrand({ ...brand, logo })} />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" busy={save.isPending}>
          Save branding
        </Button>
        {hasOwn && (
          <Button onClick={() => save.mutate({ name: null, color: null, logo: null })}>
            Reset to default
          </Button>
        )}
      </div>
    </Form>
  )
}

function ColorField({ value, onChange }: { value: string | null; onChange: (color: string | null) => void }) {
  return (
    <div className="flex items-end gap-2">
      <input
        type="color"
        aria-label="Pick a color"
        className="h-9 w-12 shrink-0 cursor-pointer rounded-md border border-strong bg-card p-1"
        value={/^#[\da-f]{6}$/i.test(value ?? '') ? value! : '#1f6b55'}
        onChange={({ target }) => onChange(target.value)}
      />
      <div className="flex-1">
        <TextField
          label="Color of buttons and links"
          name="color"
          placeholder="#7a3cff"
          pattern="#[0-9a-fA-F]{6}"
          title="# and six hexadecimal digits"
          value={value ?? ''}
          onChange={({ target }) => onChange(target.value === '' ? null : target.value)}
        />
      </div>
    </div>
  )
}
