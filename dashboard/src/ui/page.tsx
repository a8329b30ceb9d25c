import { createContext, use, useEffect, useRef, type ReactNode } from 'react'
import { classes } from './classes.ts'

/** Moves the focus to the content when `path` changes, if the link that had it is gone: the next Tab would start at the top. */
export function useFocusOnContent(path: string | undefined): void {
  const before = useRef(path)
  useEffect(() => {
    const isFirst = before.current === undefined || before.current === path
    before.current = path
    if (isFirst || document.activeElement !== document.body) return
    document.getElementById('content')?.focus({ preventScroll: true })
  }, [path])
}

/** What the frame adds to the header of every page: the link to the page's guide, and the time range where a page asks for it. */
export const PageHeaderParts = createContext<{ guide?: ReactNode; range?: ReactNode }>({})

export interface PageProps {
  /** The heading, and the first part of the window's title. */
  title: string
  /** Detail pages: the link to the list that this page belongs to. */
  up?: ReactNode
  /** Beside the heading, for instance a status. */
  beside?: ReactNode
  /** One sentence. */
  description?: ReactNode
  /** Further buttons of the whole page. */
  actions?: ReactNode
  /** The page's main button. It is always the rightmost. */
  primary?: ReactNode
  /** Whether the page shows a time range that the reader chooses. Its start is `useSince()`. */
  range?: boolean
  children: ReactNode
}

/** A page: one h1, its actions, its content. */
export function Page({
  title,
  up,
  beside,
  description,
  actions,
  primary,
  range = false,
  children,
}: PageProps) {
  const parts = use(PageHeaderParts)
  useEffect(() => {
    document.title = `${title} · Postern`
  }, [title])
  return (
    <>
      {up && (
        <nav aria-label="Breadcrumb" className="mb-1 flex items-center gap-1.5 text-sm text-soft">
          {up} <span aria-hidden>/</span>
        </nav>
      )}
      <div className="mb-5 flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xl font-semibold break-words">
            <span className="min-w-0 break-words">{title}</span> {beside}
          </h1>
          {description && <p className="mt-0.5 max-w-4xl text-soft">{description}</p>}
        </div>
        <div className="flex flex-wrap items-center gap-2 empty:hidden">
          {parts.guide}
          {range && parts.range}
          {actions}
          {primary}
        </div>
      </div>
      {children}
    </>
  )
}

export interface SectionProps {
  title?: string
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Without padding, for tables that reach the edges. */
  flush?: boolean
  className?: string
}

/** A part of a page in a card, with an h2. */
export function Section({ title, description, actions, children, flush = false, className }: SectionProps) {
  return (
    <section className={classes('mb-5 rounded-lg border border-line bg-card', className)}>
      {title !== undefined && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 pt-3 pb-2">
          <div className="min-w-0 flex-1 basis-56">
            <h2 className="font-semibold">{title}</h2>
            {description && <p className="text-sm text-soft">{description}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      )}
      <div className={flush ? '' : classes('px-4 pb-4', title === undefined && 'pt-4')}>{children}</div>
    </section>
  )
}

/** Names and values, in two columns where there is room. */
export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-[minmax(0,8rem)_minmax(0,1fr)] items-baseline gap-x-4 gap-y-2 sm:grid-cols-[max-content_minmax(0,1fr)] sm:gap-x-6">
      {children}
    </dl>
  )
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="break-words text-soft">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  )
}
