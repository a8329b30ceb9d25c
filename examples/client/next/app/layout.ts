import { createElement, type ReactElement, type ReactNode } from 'react'
import { Session } from './session.ts'

export default function Layout({ children }: { children: ReactNode }): ReactElement {
  const body = createElement('body', null, createElement(Session, null, children))
  return createElement('html', { lang: 'en' }, body)
}
