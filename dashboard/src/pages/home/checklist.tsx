import { Circle, CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Section } from '../../ui/page.tsx'
import { readStored, writeStored } from '../../ui/storage.ts'
import type { useChecklist } from './data.ts'

const hiddenKey = 'postern-checklist-hidden'

/** The first steps of an installation, ticked off as they happen. Gone when all are done, or when the person hides it. */
export function Checklist({ data }: { data: ReturnType<typeof useChecklist>['data'] }) {
  const [hidden, setHidden] = useState(() => readStored(hiddenKey) === 'yes')
  if (!data || data.done) return null
  const change = (hide: boolean): void => {
    setHidden(hide)
    writeStored(hiddenKey, hide ? 'yes' : 'no')
  }
  const done = data.steps.filter((step) => step.done).length
  const next = data.steps.find((step) => !step.done)?.id
  if (hidden)
    return (
      <p className="mb-5">
        <Button small onClick={() => change(false)}>
          Show first steps ({done} of {data.steps.length} done)
        </Button>
      </p>
    )
  return (
    <Section
      title="First steps"
      description={
        <span role="status">
          {done} of {data.steps.length} done
        </span>
      }
      actions={
        <Button small onClick={() => change(true)}>
          Hide
        </Button>
      }
      flush
    >
      <ol className="border-t border-line">
        {data.steps.map((step) => (
          <Step key={step.id} {...step} next={step.id === next} />
        ))}
      </ol>
    </Section>
  )
}

interface StepProps {
  title: string
  detail: string
  command: string
  done: boolean
  /** The first that is not done is open. */
  next: boolean
}

function Step({ title, detail, command, done, next }: StepProps) {
  const Icon = done ? CircleCheck : Circle
  return (
    <li className="border-b border-line px-4 py-2.5 last:border-b-0">
      <details open={next && !done}>
        <summary className="flex min-h-6 cursor-pointer items-center gap-2.5">
          <Icon size={18} aria-hidden className={done ? 'text-ok' : 'text-soft'} />
          <span className={done ? 'text-soft' : 'font-medium'}>{title}</span>
          <span className="sr-only">{done ? '(done)' : '(to do)'}</span>
        </summary>
        <div className="mt-1 mb-1 pl-7">
          <p className="mb-2 text-soft">{detail}</p>
          <CodeBlock code={command} label={`Command: ${title}`} />
        </div>
      </details>
    </li>
  )
}
