import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from '../api/queries.ts'
import { applyTheme } from '../layout/theme.ts'
import '../style.css'
import { ConfirmProvider } from '../ui/confirm.tsx'
import { Toasts } from '../ui/toast.tsx'
import { Portal } from './portal.tsx'

applyTheme()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <ConfirmProvider>
        <Portal />
      </ConfirmProvider>
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
)
