import { useLayoutEffect } from 'react'
import { boot } from '../api/boot.ts'
import type { Session } from './client.ts'

interface Brand {
  name: string
  logo: string
}

/**
 * The brand of the owner where it has one, else that of the installation. Its colours hold for the whole page, before it is painted.
 * Nothing until it is known whose portal it is: the page of a signed-in owner knows it, a link tells it when it is opened.
 */
export function useBrand(session: Pick<Session, 'brand'> | null | undefined): Brand | undefined {
  const own = session === undefined ? boot.ownerBrand : session?.brand
  const isKnown = session !== undefined || own !== undefined
  const name = own?.name ?? boot.brand?.name ?? 'Webhooks'
  const variables = own?.variables
  useLayoutEffect(() => {
    document.title = name
  }, [name])
  useLayoutEffect(() => {
    const { style } = document.documentElement
    for (const [variable, value] of Object.entries(variables ?? {})) style.setProperty(variable, value)
    return () => {
      for (const variable of Object.keys(variables ?? {})) style.removeProperty(variable)
    }
  }, [variables])
  return isKnown
    ? { name, logo: own?.logo ?? boot.brand?.logo ?? `${boot.basePath}/assets/icon.svg` }
    : undefined
}

/** Logo and name. */
export function BrandMark({ brand }: { brand: Brand | undefined }) {
  return (
    <>
      {brand && <img src={brand.logo} alt="" className="h-7 max-w-32" />}
      <span className="min-w-0 flex-1 truncate font-semibold">{brand?.name}</span>
    </>
  )
}
