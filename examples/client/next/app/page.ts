import { createElement, type ReactElement } from 'react'
import { Home } from './session.ts'

export default function Page(): ReactElement {
  return createElement(Home, null)
}
