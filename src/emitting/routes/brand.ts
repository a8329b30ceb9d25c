import { Type, type Static } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import type { App } from '../../http/app.ts'
import { brandVariables } from '../../http/pages/brand-color.ts'
import { closedObject, nullable } from '../../http/schemas/schemas.ts'
import { ownerPattern } from '../events/audience.ts'
import type { OwnerBrand, OwnerBrands } from '../subscribers/owner-brands.ts'

/** No control characters, and nothing that the databases cannot store. */
export const printable = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$'
const closed = { additionalProperties: false }
/** Characters. It is part of the answer that opens the portal. */
const longestLogo = 90_000

const Name = Type.String({ minLength: 1, maxLength: 60, pattern: printable })
const Color = Type.String({ pattern: '^#[0-9a-fA-F]{6}$' })
const Logo = Type.String({
  maxLength: longestLogo,
  // Shown as an image only, so that an SVG cannot run a script.
  pattern: '^data:image/(svg\\+xml|png|webp|jpeg);base64,[A-Za-z0-9+/]+={0,2}$',
})

const fields = {
  name: nullable(Name, 'In place of BRAND_NAME'),
  color: nullable(Color, 'In place of BRAND_COLOR, as `#rrggbb`'),
  logo: nullable(
    Logo,
    `In place of BRAND_LOGO: SVG, PNG, WebP or JPEG as a \`data:\` URI in base64, ${longestLogo} characters at most`,
  ),
}
const BrandView = closedObject(fields, { description: 'Null: as the settings say' })
const BrandChange = Type.Partial(Type.Object(fields), closed)

/** The brand as the page of the portal needs it. */
export const PortalBrandView = closedObject({
  name: nullable(Type.String(), 'Null: as the settings say'),
  logo: nullable(Type.String(), 'A `data:` URI; null: as the settings say'),
  variables: nullable(
    Type.Record(Type.String(), Type.String()),
    'The colour for both themes, as CSS custom properties; null: as the settings say',
  ),
})

export function portalBrand({ name, logo, color }: OwnerBrand): Static<typeof PortalBrandView> {
  return { name, logo, variables: color === null ? null : brandVariables(color) }
}

/** `/owners/{owner}/brand`: name, colour and logo of one owner's portal. */
export function brandRoutes(app: App, { brands }: { brands: OwnerBrands }): void {
  const tags = ['owners']
  const params = Type.Object({ owner: Type.String({ pattern: ownerPattern }) })
  app.get(
    '/owners/:owner/brand',
    {
      config: { access: { scope: 'subscribers:read' } },
      schema: { tags, summary: "The brand of an owner's portal", params, response: { 200: BrandView } },
    },
    async ({ params: { owner } }, reply) => reply.send(await brands.get(owner)),
  )
  app.patch(
    '/owners/:owner/brand',
    {
      config: { access: { scope: 'subscribers:write' } },
      schema: {
        tags,
        summary: "Change the brand of an owner's portal",
        description: 'Absent fields stay. A field with null is as the settings say again.',
        params,
        body: BrandChange,
        response: { 200: BrandView },
      },
    },
    async (request, reply) =>
      reply.send(await brands.change(request.params.owner, request.body, auditOrigin(request))),
  )
}
