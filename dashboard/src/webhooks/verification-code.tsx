import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { seldomChanges } from '../api/refresh.ts'
import { CodeBlock } from '../ui/code.tsx'
import { Notice, ReadState } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { useCalls } from './calls.ts'
import type { Subscriber } from './types.ts'

/** Complete receivers for an endpoint. */
export function VerificationCode({ subscriber: { id, url } }: { subscriber: Subscriber }) {
  const [language, setLanguage] = useState('typescript')
  const calls = useCalls()
  const query = useQuery({
    queryKey: ['verification', id, url],
    queryFn: ({ signal }) => calls.verification(id, signal),
    ...seldomChanges,
  })
  if (!query.data) return <ReadState {...query} />
  const { data } = query
  return (
    <Section
      title="Verify signatures"
      description="Complete receivers without a library. They verify the raw body in constant time, reject old requests, and accept any of several signatures, as there are while you rotate a secret."
    >
      {data.signing === 'v1a' && (
        <Notice tone="warn">
          This endpoint signs with a key pair (v1a) only. The code verifies v1: choose “v1” or “both” as its
          signatures.
        </Notice>
      )}
      <Tabs
        label="Language"
        value={language}
        onChange={setLanguage}
        tabs={data.languages.map((one) => ({
          value: one.id,
          label: one.name,
          content: (
            <>
              <p className="mb-2 font-mono text-sm text-soft">{one.file}</p>
              <CodeBlock code={one.code} label={`Code in ${one.name}`} maxHeight="max-h-[40rem]" />
            </>
          ),
        }))}
      />
    </Section>
  )
}
