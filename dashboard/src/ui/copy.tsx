import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { words } from '../language/words.ts'
import { Button, IconButton } from './button.tsx'

/** Copies a text; says that it did. Without `children` it is an icon. */
export function CopyButton({
  text,
  label = '',
  children,
}: {
  text: string | (() => string)
  /** The name of the icon. */
  label?: string
  children?: string
}) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>()
  const copied = outcome === 'copied'
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setOutcome(undefined), 2_000)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = (): void =>
    void write(typeof text === 'function' ? text() : text).then(
      () => setOutcome('copied'),
      () => setOutcome('refused'),
    )
  const icon = copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />
  return (
    <>
      {children === undefined ? (
        <IconButton label={label} onClick={copy}>
          {icon}
        </IconButton>
      ) : (
        <Button icon={icon} onClick={copy}>
          {copied ? words.ui.copied : children}
        </Button>
      )}
      <span role="status" className={outcome === 'refused' ? 'text-sm text-danger' : 'sr-only'}>
        {copied && words.ui.copied}
        {outcome === 'refused' && refusal(text)}
      </span>
    </>
  )
}

/** A text that is made for the clipboard is nowhere on the page. */
const refusal = (text: string | (() => string)): string =>
  typeof text === 'string' ? words.ui.copyFailedSelect : words.ui.copyFailed

/**
 * Browsers give the clipboard to secure pages only; elsewhere an old way works.
 * @throws when the browser refuses, as in a frame without the permission
 */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (!copied) throw new Error('the browser does not copy')
}

/** A value in one line with a button to copy it. */
export function CopyValue({ value, label }: { value: string; label: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="truncate font-mono text-sm" title={value}>
        {value}
      </code>
      <span className="-my-2">
        <CopyButton text={value} label={label} />
      </span>
    </span>
  )
}
