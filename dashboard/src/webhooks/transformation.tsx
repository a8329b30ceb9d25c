import { Suspense } from 'react'
import { lazyPart } from '../ui/lazy-part.ts'
import { Loading } from '../ui/notices.tsx'
import type { Subscriber } from './types.ts'

const Editor = lazyPart(() => import('./transformation-editor.tsx'))

/** The transformation of an endpoint. Few people open it, so its script is loaded then. */
export const Transformation = ({ subscriber }: { subscriber: Subscriber }) => (
  <Suspense fallback={<Loading />}>
    <Editor subscriber={subscriber} />
  </Suspense>
)
