import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { seldomChanges } from '../api/refresh.ts'
import { fill, words } from '../language/words.ts'
import { CodeBlock } from '../ui/code.tsx'
import { Notice, ReadState } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { useCalls } from './calls.ts'
import type { Subscriber } from './types.ts'

/** Complete receivers for an endpoint. */
export function VerificationCode({
  subscriber: { id, url, signing, signatureHeaders },
}: {
  subscriber: Subscriber
}) {
  const [language, setLanguage] = useState('typescript')
  const calls = useCalls()
  const query = useQuery({
    queryKey: ['verification', id, url, signing, signatureHeaders],
    queryFn: ({ signal }) => calls.verification(id, signal),
    ...seldomChanges,
  })
  if (!query.data) return <ReadState {...query} />
  const { data } = query
  return (
    <Section title={words.verification.title} description={words.verification.description}>
      {data.signing === 'v1a' && <Notice tone="warn">{words.verification.onlyV1a}</Notice>}
      <Tabs
        label={words.verification.language}
        value={language}
        onChange={setLanguage}
        tabs={data.languages.map((one) => ({
          value: one.id,
          label: one.name,
          content: (
            <>
              <p className="mb-2 font-mono text-sm text-soft">{one.file}</p>
              <CodeBlock
                code={one.code}
                label={fill(words.verification.codeIn, { language: one.name })}
                maxHeight="max-h-[40rem]"
              />
            </>
          ),
        }))}
      />
    </Section>
  )
}
