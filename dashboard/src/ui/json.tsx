import { useState } from 'react'
import { fill, words } from '../language/words.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code.tsx'

/** How many entries of an object or array are shown before the rest is asked for. */
const shownAtFirst = 100

/** JSON as a tree that folds, or raw. Numbers are shown as they are written. */
export function JsonView({ text, label = words.ui.payload }: { text: string; label?: string }) {
  const [raw, setRaw] = useState(false)
  const parsed = parse(text)
  if (parsed === undefined) return <CodeBlock code={text} label={label} />
  return (
    <div>
      <div className="mb-2 flex gap-2" role="group" aria-label={fill(words.ui.viewOf, { label })}>
        <Button small kind={raw ? 'quiet' : 'default'} aria-pressed={!raw} onClick={() => setRaw(false)}>
          {words.ui.tree}
        </Button>
        <Button small kind={raw ? 'default' : 'quiet'} aria-pressed={raw} onClick={() => setRaw(true)}>
          {words.ui.raw}
        </Button>
      </div>
      {raw ? (
        <CodeBlock code={text} label={label} />
      ) : (
        <div
          tabIndex={0}
          role="region"
          aria-label={label}
          className="max-h-96 overflow-auto rounded-md border border-line bg-sunken p-3 font-mono text-sm"
        >
          <Node value={parsed.value} depth={0} />
        </div>
      )}
    </div>
  )
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text, preserveDigits) }
  } catch {
    return undefined
  }
}

/** A number that JavaScript would show with other digits. */
class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Older browsers pass no context. */
function preserveDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const text = context?.source
  return typeof value === 'number' && text !== undefined && String(value) !== text
    ? new ExactNumber(text)
    : value
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const label = name === undefined ? null : <span className="text-soft">{name}: </span>
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber)
    return (
      <div className="break-all">
        {label}
        <Scalar value={value} />
      </div>
    )
  return <Branch label={label} value={value} depth={depth} />
}

function Branch({ label, value, depth }: { label: React.ReactNode; value: object; depth: number }) {
  const [limit, setLimit] = useState(shownAtFirst)
  const entries = Object.entries(value)
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`
  if (entries.length === 0)
    return (
      <div>
        {label}
        {Array.isArray(value) ? '[]' : '{}'}
      </div>
    )
  return (
    <details open={depth < 2}>
      <summary className="min-h-6 cursor-pointer">
        {label}
        <span className="text-soft">{size}</span>
      </summary>
      <div className="ml-1.5 border-l border-line pl-3">
        {entries.slice(0, limit).map(([key, child]) => (
          <Node key={key} name={key} value={child} depth={depth + 1} />
        ))}
        {entries.length > limit && (
          <Button small kind="quiet" onClick={() => setLimit(limit * 10)}>
            {fill(words.ui.more, { count: entries.length - limit })}
          </Button>
        )}
      </div>
    </details>
  )
}

function Scalar({ value }: { value: unknown }) {
  if (typeof value === 'string') return <span className="text-ok">{JSON.stringify(value)}</span>
  if (value instanceof ExactNumber) return <span className="text-info">{value.text}</span>
  if (typeof value === 'number') return <span className="text-info">{String(value)}</span>
  return <span className="text-warn">{String(value)}</span>
}
