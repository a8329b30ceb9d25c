import { seldomChanges } from '../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CodeBlock } from '../ui/code.tsx'
import { SelectField } from '../ui/fields.tsx'
import { ReadState } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { api } from './client.ts'

/** A complete receiver in the person's language. */
export function Verification({ endpoint }: { endpoint: string }) {
  const [language, setLanguage] = useState('typescript')
  const query = useQuery({
    queryKey: ['verification', endpoint],
    queryFn: ({ signal }) =>
      api.get('/portal/subscribers/{id}/verification', { params: { id: endpoint }, signal }),
    ...seldomChanges,
  })
  if (!query.data) return <ReadState {...query} />
  const { data } = query
  const shown = data.languages.find(({ id }) => id === language) ?? data.languages[0]
  return (
    <Section
      title="A receiver that verifies the signature"
      description={
        data.signing === 'v1a' ? 'This endpoint signs with a key pair; the code verifies secrets.' : undefined
      }
    >
      <div className="mb-3 max-w-56">
        <SelectField
          label="Language"
          options={data.languages.map(({ id, name }) => ({ value: id, label: name }))}
          value={shown?.id}
          onChange={({ target }) => setLanguage(target.value)}
        />
      </div>
      {shown && <CodeBlock code={shown.code} label={shown.file} maxHeight="max-h-[36rem]" />}
    </Section>
  )
}
