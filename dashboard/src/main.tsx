import './language/in-english.ts'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/queries.ts'
import { applyTheme } from './layout/theme.ts'
import { router } from './router.ts'
import './style.css'
import { ConfirmProvider } from './ui/confirm.tsx'
import { Toasts } from './ui/toast.tsx'

applyTheme()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <ConfirmProvider>
        <RouterProvider router={router} />
      </ConfirmProvider>
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
)
