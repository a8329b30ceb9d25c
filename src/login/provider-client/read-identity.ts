import type { ProviderIdentity } from '../../accounts/users/identities.ts'
import { refusalOf } from './admission.ts'
import { mapGroups, readGroups } from './groups.ts'
import { pictureIn, readStandardProfile, toIdentity, type ProfileDocument } from './profile.ts'
import type { ProviderApi } from './provider-api.ts'
import { AccountNotAdmitted } from './provider-errors.ts'
import type { ProfileSource } from '../providers/preset.ts'
import type { ResolvedProvider } from '../providers/resolved-provider.ts'

/** The verified answer of a provider. */
export type ProviderAnswer = Pick<ProfileSource, 'claims' | 'document' | 'profileUrl' | 'givenName'>

/**
 * The identity in a provider's verified answer, with its groups.
 * @throws AccountNotAdmitted; UnusableProfile; ProfileRefused when the provider's API does not tell the groups.
 */
export async function readIdentity(
  provider: ResolvedProvider,
  answer: ProviderAnswer,
  api: ProviderApi,
): Promise<ProviderIdentity> {
  const { name, quirks, presetSetting, groups, admission } = provider
  const { claims, document, profileUrl } = answer
  const readMore = (url: string): Promise<unknown> => api.readMore(url)
  const raw = await quirks.readProfile?.({ ...answer, presetSetting, readMore })
  const picture = pictureIn(document)
  const standard = { ...readStandardProfile(document), picture }
  // With an id_token, its verified subject is the id. The profile may contain another id.
  const { sub } = claims
  const profile = raw ? { picture, ...raw } : { ...standard, ...(sub !== undefined && { id: sub }) }
  const identity = toIdentity(name, profile)
  const readNeeded = (url: string): Promise<unknown> => api.readNeeded(url)
  const named = await readGroups(document, groups, quirks.groups, { profileUrl, readNeeded })
  const refusal = refusalOf(identity, named, admission)
  if (refusal !== undefined) throw new AccountNotAdmitted(refusal, identity.providerId)
  return { ...identity, ...mapGroups(named, groups), issuer: identityNamespaceOf(provider, claims) }
}

/** The issuer that the identity is bound to: `iss` of the verified id_token, unless the provider has a fixed one. */
function identityNamespaceOf(provider: ResolvedProvider, { iss }: ProfileDocument): string {
  if (provider.kind === 'oauth') return provider.identityNamespace
  const { identityNamespace, quirks } = provider
  const named = String(iss)
  return identityNamespace ?? quirks.identityNamespace?.(named) ?? named
}
