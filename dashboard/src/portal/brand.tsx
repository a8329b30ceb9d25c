import { useEffect } from 'react'
import { boot } from '../api/boot.ts'
import type { Session } from './client.ts'

interface Brand {
  name: string
  logo: string
}

/** The brand of the owner where it has one, else that of the installation. Its colours hold for the whole page. */
export function useBrand(own: Session['brand'] | undefined): Brand {
  const name = own?.name ?? boot.brand?.name ?? 'Webhooks'
  const variables = own?.variables
  useEffect(() => {
    document.title = name
  }, [name])
  useEffect(() => {
    const { style } = document.documentElement
    for (const [variable, value] of Object.entries(variables ?? {})) style.setProperty(variable, value)
    return () => {
      for (const variable of Object.keys(variables ?? {})) style.removeProperty(variable)
    }
  }, [variables])
  return { name, logo: own?.logo ?? boot.brand?.logo ?? `${boot.basePath}/assets/icon.svg` }
}

/** Logo and name. Nothing until it is known whose portal it is. */
export function BrandMark({ brand }: { brand: Brand | undefined }) {
  return (
    <>
      {brand && <img src={brand.logo} alt="" className="h-7 max-w-32" />}
      <span className="min-w-0 flex-1 truncate font-semibold">{brand?.name}</span>
    </>
  )
}
