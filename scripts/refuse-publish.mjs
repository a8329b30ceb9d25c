// Runs before `npm publish`: releases come from .github/workflows/release.yml, which tests them and signs their provenance.
if (!process.env.GITHUB_ACTIONS && process.env.POSTERN_PUBLISH !== 'by-hand') {
  console.error(
    'Releases are published by a workflow: `npm run release`, then push the tag. See CONTRIBUTING.md.',
  )
  process.exit(1)
}
