import { Tabs as Base } from '@base-ui/react/tabs'
import { useEffect, useRef, type ReactNode } from 'react'
import { centreWithin } from './scroll.ts'

export interface Tab {
  value: string
  label: ReactNode
  content: ReactNode
}

/** Tabs; the page keeps the chosen one in its URL. Only the chosen tab's content is rendered. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  label: string
  tabs: readonly Tab[]
  value: string
  onChange: (value: string) => void
}) {
  const chosen = tabs.some((tab) => tab.value === value) ? value : tabs[0]?.value
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => centreWithin(list.current, `[data-tab="${CSS.escape(chosen ?? '')}"]`), [chosen])
  return (
    <Base.Root value={chosen} onValueChange={(next) => onChange(String(next))}>
      <Base.List
        ref={list}
        aria-label={label}
        activateOnFocus={false}
        className="relative mb-4 flex gap-1 overflow-x-auto border-b border-line"
      >
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            data-tab={tab.value}
            className="-mb-px min-h-9 border-b-2 border-transparent px-3 py-1.5 whitespace-nowrap text-soft hover:text-ink focus-visible:outline-offset-[-2px] data-[active]:border-accent data-[active]:font-medium data-[active]:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="focus-visible:outline-offset-4">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  )
}
