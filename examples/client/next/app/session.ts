'use client'
import { createElement, type ReactElement, type ReactNode } from 'react'
import {
  cookieSource,
  PosternProvider,
  SignedIn,
  SignedOut,
  UserButton,
  useSession,
} from 'postern-client/react'

// Postern is at the same origin, below this path.
const source = cookieSource({ url: '/gate' })

export function Session({ children }: { children?: ReactNode }): ReactElement {
  return createElement(PosternProvider, { source }, createElement(UserButton, null), children)
}

function Greeting(): ReactElement {
  return createElement('h1', null, `Welcome back, ${useSession().user?.name ?? 'you'}`)
}

export function Home(): ReactElement {
  return createElement(
    'main',
    null,
    createElement(SignedIn, null, createElement(Greeting, null)),
    createElement(SignedOut, null, 'Sign in to see your orders.'),
  )
}
